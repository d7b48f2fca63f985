"""All rows of the decision service's interface."""

from __future__ import annotations

from typing import Final

from ranger_cdap.service.api import authzen, cdap_api, events_api, grant_api, health, openapi, page, pdp
from ranger_cdap.service.api.health import Live, Ready
from ranger_cdap.service.api.routes import Row
from ranger_cdap.service.http.callers import Role
from ranger_cdap.service.http.metrics import CONTENT_TYPE
from ranger_cdap.service.http.reply import ErrorBody, text_error
from ranger_cdap.service.state.handshake import Handshake
from ranger_cdap.service.wire.authzen_wire import (
    Actions,
    Configuration,
    Evaluated,
    EvaluatedAll,
    EvaluationRequest,
    EvaluationsRequest,
    Subjects,
)
from ranger_cdap.service.wire.cdap_wire import EnforceReply, EnforceRequest, HelloReply, VisibleReply, VisibleRequest
from ranger_cdap.service.wire.event_wire import AuditReply, AuditRequest
from ranger_cdap.service.wire.grant_wire import GrantReply, GrantRequest, GrantsReply, GrantsRequest
from ranger_cdap.service.wire.pdp_wire import (
    AuthzRequest,
    AuthzResult,
    MultiAuthzRequest,
    MultiAuthzResult,
    ResourcePermissions,
    ResourcePermissionsRequest,
)

_EVERYBODY: Final = frozenset[Role]()
_ENFORCE: Final = frozenset({Role.ENFORCE})
_DELEGATE: Final = frozenset({Role.DELEGATE})
_AUDIT: Final = frozenset({Role.AUDIT})
_GRANT: Final = frozenset({Role.GRANT})
_ASK: Final = frozenset({Role.EVALUATE, Role.DELEGATE})

_LONGEST: Final = 250_000
"""Bytes of a question of those who ask for themselves: it is read at one go, and nobody is answered meanwhile."""

_UNTOLD: Final = {501: ErrorBody}
_UNTOLD_IN_TEXT: Final = {501: str}
_PDP_CHALLENGE: Final = 'Bearer realm="Ranger PDP", Basic realm="Ranger PDP", charset="UTF-8"'

CDAP: Final = (
    Row(
        "POST", "/cdap/v1/enforce", _ENFORCE, cdap_api.enforce, "Evaluate one permission check",
        EnforceRequest, EnforceReply,
        waits=cdap_api.may_wait, works=cdap_api.may_be_long,
    ),
    Row(
        "POST", "/cdap/v1/visible", _ENFORCE, cdap_api.visible, "Which of these does somebody see?",
        VisibleRequest, VisibleReply, works=True,
    ),
    Row("POST", "/cdap/v1/hello", _ENFORCE, cdap_api.hello, "Who is this service?", Handshake, HelloReply),
)  # fmt: skip

EVENTS: Final = (
    Row(
        "POST", "/cdap/v1/audit", _AUDIT, events_api.audit, "Keep what CDAP answered for the sync job",
        AuditRequest, AuditReply, waits=True,
    ),
)  # fmt: skip

GRANTS: Final = (
    Row(
        "POST", "/cdap/v1/grant", _GRANT, grant_api.grant, "Somebody in CDAP gives permissions",
        GrantRequest, GrantReply, waits=True,
    ),
    Row(
        "POST", "/cdap/v1/revoke", _GRANT, grant_api.revoke, "Somebody in CDAP takes permissions away",
        GrantRequest, GrantReply, waits=True,
    ),
    Row(
        "POST", "/cdap/v1/grants", _GRANT, grant_api.grants, "What was somebody given?",
        GrantsRequest, GrantsReply, waits=True,
    ),
)  # fmt: skip

PDP: Final = (
    Row(
        "POST", "/authz/v1/authorize", _ASK, pdp.authorize, "May somebody do this, by Ranger's permissions?",
        AuthzRequest, AuthzResult, waits=cdap_api.audit_waits,
        works=True, longest=_LONGEST, also=_UNTOLD, challenge=_PDP_CHALLENGE,
    ),
    Row(
        "POST", "/authz/v1/authorizeMulti", _ASK, pdp.authorize_multi, "May somebody do each of these?",
        MultiAuthzRequest, MultiAuthzResult, waits=cdap_api.audit_waits,
        works=True, longest=_LONGEST, also=_UNTOLD, challenge=_PDP_CHALLENGE,
    ),
    Row(
        "POST", "/authz/v1/permissions", _DELEGATE, pdp.permissions, "Who may do what on this?",
        ResourcePermissionsRequest, ResourcePermissions, works=True, longest=_LONGEST, also=_UNTOLD,
        challenge=_PDP_CHALLENGE,
    ),
)  # fmt: skip

AUTHZEN: Final = (
    Row(
        "POST", authzen.EVALUATION, _ASK, authzen.evaluation, "May a subject do this?",
        EvaluationRequest, Evaluated, waits=cdap_api.audit_waits,
        works=True, longest=_LONGEST, also=_UNTOLD_IN_TEXT, error=text_error,
        challenge=_PDP_CHALLENGE,
    ),
    Row(
        "POST", authzen.EVALUATIONS, _ASK, authzen.evaluations, "May a subject do each of these?",
        EvaluationsRequest, EvaluatedAll, waits=cdap_api.audit_waits,
        works=True, longest=_LONGEST, also=_UNTOLD_IN_TEXT, error=text_error,
        challenge=_PDP_CHALLENGE,
    ),
    Row(
        "POST", authzen.SEARCH_SUBJECT, _DELEGATE, authzen.search_subject, "Who may do this?",
        EvaluationRequest, Subjects, works=True, longest=_LONGEST, also=_UNTOLD_IN_TEXT, error=text_error,
        challenge=_PDP_CHALLENGE,
    ),
    Row(
        "POST", authzen.SEARCH_ACTION, _DELEGATE, authzen.search_action, "What may a subject do?",
        EvaluationRequest, Actions, works=True, longest=_LONGEST, also=_UNTOLD_IN_TEXT, error=text_error,
        challenge=_PDP_CHALLENGE,
    ),
    Row(
        "GET", "/.well-known/authzen-configuration", _ASK, authzen.configuration, "What AuthZEN finds here",
        gives=Configuration, error=text_error, challenge=_PDP_CHALLENGE,
    ),
)  # fmt: skip

HEALTH: Final = (
    Row("GET", "/health/live", _EVERYBODY, health.live, "Liveness", gives=Live),
    Row("GET", "/health/ready", _EVERYBODY, health.ready, "Readiness", gives=Ready, also={503: Ready}),
    Row("GET", "/metrics", _EVERYBODY, health.metrics, "Prometheus metrics", content_type=CONTENT_TYPE),
)

PAGE: Final = (
    Row(
        "GET", "/", _DELEGATE, page.show, "The page for a person: the policies, and may somebody do something, and why",
        works=True, also={400: str}, query=page.QUERY, content_type=page.HTML, error=page.html_error,
    ),
    Row("GET", "/style.css", _DELEGATE, page.style, "How the page looks", content_type=page.CSS),
)  # fmt: skip

_ALL: Final = (*CDAP, *EVENTS, *GRANTS, *PDP, *AUTHZEN, *HEALTH, *PAGE)

ROWS: Final = (*_ALL, openapi.row(_ALL))
