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
"""Most bytes of a request by callers that ask about themselves: its parsing blocks all other requests."""

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
        "POST", "/cdap/v1/visible", _ENFORCE, cdap_api.visible, "List which of these a user may see",
        VisibleRequest, VisibleReply, works=True,
    ),
    Row("POST", "/cdap/v1/hello", _ENFORCE, cdap_api.hello, "Compare settings with CDAP", Handshake, HelloReply),
)  # fmt: skip

EVENTS: Final = (
    Row(
        "POST", "/cdap/v1/audit", _AUDIT, events_api.audit, "Store records of CDAP's answers for the sync job",
        AuditRequest, AuditReply, waits=True,
    ),
)  # fmt: skip

GRANTS: Final = (
    Row(
        "POST", "/cdap/v1/grant", _GRANT, grant_api.grant, "Grant permissions in the name of a user of CDAP",
        GrantRequest, GrantReply, waits=True,
    ),
    Row(
        "POST", "/cdap/v1/revoke", _GRANT, grant_api.revoke, "Revoke permissions in the name of a user of CDAP",
        GrantRequest, GrantReply, waits=True,
    ),
    Row(
        "POST", "/cdap/v1/grants", _GRANT, grant_api.grants, "List the grants of a principal",
        GrantsRequest, GrantsReply, waits=True,
    ),
)  # fmt: skip

PDP: Final = (
    Row(
        "POST", "/authz/v1/authorize", _ASK, pdp.authorize, "Evaluate one permission check of the PDP API",
        AuthzRequest, AuthzResult, waits=cdap_api.audit_waits,
        works=True, longest=_LONGEST, also=_UNTOLD, challenge=_PDP_CHALLENGE,
    ),
    Row(
        "POST", "/authz/v1/authorizeMulti", _ASK, pdp.authorize_multi, "Evaluate several permission checks",
        MultiAuthzRequest, MultiAuthzResult, waits=cdap_api.audit_waits,
        works=True, longest=_LONGEST, also=_UNTOLD, challenge=_PDP_CHALLENGE,
    ),
    Row(
        "POST", "/authz/v1/permissions", _DELEGATE, pdp.permissions, "List who may do what on a resource",
        ResourcePermissionsRequest, ResourcePermissions, works=True, longest=_LONGEST, also=_UNTOLD,
        challenge=_PDP_CHALLENGE,
    ),
)  # fmt: skip

AUTHZEN: Final = (
    Row(
        "POST", authzen.EVALUATION, _ASK, authzen.evaluation, "Evaluate one AuthZEN request",
        EvaluationRequest, Evaluated, waits=cdap_api.audit_waits,
        works=True, longest=_LONGEST, also=_UNTOLD_IN_TEXT, error=text_error,
        challenge=_PDP_CHALLENGE,
    ),
    Row(
        "POST", authzen.EVALUATIONS, _ASK, authzen.evaluations, "Evaluate AuthZEN requests",
        EvaluationsRequest, EvaluatedAll, waits=cdap_api.audit_waits,
        works=True, longest=_LONGEST, also=_UNTOLD_IN_TEXT, error=text_error,
        challenge=_PDP_CHALLENGE,
    ),
    Row(
        "POST", authzen.SEARCH_SUBJECT, _DELEGATE, authzen.search_subject, "List the subjects of an action",
        EvaluationRequest, Subjects, works=True, longest=_LONGEST, also=_UNTOLD_IN_TEXT, error=text_error,
        challenge=_PDP_CHALLENGE,
    ),
    Row(
        "POST", authzen.SEARCH_ACTION, _DELEGATE, authzen.search_action, "List the actions of a subject",
        EvaluationRequest, Actions, works=True, longest=_LONGEST, also=_UNTOLD_IN_TEXT, error=text_error,
        challenge=_PDP_CHALLENGE,
    ),
    Row(
        "GET", "/.well-known/authzen-configuration", _ASK, authzen.configuration, "AuthZEN metadata",
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
        "GET", "/", _DELEGATE, page.show, "The web page: policies, permission checks and their reasons",
        works=True, also={400: str}, query=page.QUERY, content_type=page.HTML, error=page.html_error,
    ),
    Row("GET", "/style.css", _DELEGATE, page.style, "Style sheet of the page", content_type=page.CSS),
)  # fmt: skip

_ALL: Final = (*CDAP, *EVENTS, *GRANTS, *PDP, *AUTHZEN, *HEALTH, *PAGE)

ROWS: Final = (*_ALL, openapi.row(_ALL))
