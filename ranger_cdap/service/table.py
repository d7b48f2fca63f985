"""All routes of the decision service."""

from __future__ import annotations

from typing import Final

from ranger_cdap.service.api import (
    authzen,
    cdap_api,
    console,
    events_api,
    grant_api,
    health,
    openapi,
    operation_api,
    page,
    pdp,
    policies_api,
    role_api,
)
from ranger_cdap.service.api.console_form import ConsoleView
from ranger_cdap.service.api.routes import ApiRoute, Handler
from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.service.http.metrics import CONTENT_TYPE
from ranger_cdap.service.http.reply import ErrorBody, text_error
from ranger_cdap.service.http.uploads import FORM
from ranger_cdap.service.state.handshake import Handshake
from ranger_cdap.service.wire.authzen_wire import (
    AuthZenConfiguration,
    EvaluationRequest,
    EvaluationResponse,
    EvaluationsRequest,
    EvaluationsResponse,
)
from ranger_cdap.service.wire.cdap_wire import (
    EnforceReply,
    EnforceRequest,
    HelloReply,
    PoliciesReply,
    RefreshRequest,
    VisibleReply,
    VisibleRequest,
)
from ranger_cdap.service.wire.console_wire import (
    AskAnswer,
    ImpactAnswer,
    MatrixAnswer,
    StatusAnswer,
    UploadedFileForm,
    UploadedPolicies,
    WhatAnswer,
    WhoAnswer,
)
from ranger_cdap.service.wire.event_wire import AuditReply, AuditRequest
from ranger_cdap.service.wire.grant_wire import GrantReply, GrantRequest, GrantsReply, GrantsRequest
from ranger_cdap.service.wire.health_wire import Live, Ready
from ranger_cdap.service.wire.operation_wire import OperationReply, OperationRequest
from ranger_cdap.service.wire.pdp_wire import (
    AuthzRequest,
    AuthzResult,
    MultiAuthzRequest,
    MultiAuthzResult,
    ResourcePermissions,
    ResourcePermissionsRequest,
)
from ranger_cdap.service.wire.role_wire import RoleReply, RoleRequest, RolesReply, RolesRequest

_PUBLIC: Final = frozenset[CallerRole]()
_ENFORCE: Final = frozenset({CallerRole.ENFORCE})
_DELEGATE: Final = frozenset({CallerRole.DELEGATE})
_AUDIT: Final = frozenset({CallerRole.AUDIT})
_GRANT: Final = frozenset({CallerRole.GRANT})
_ASK: Final = frozenset({CallerRole.EVALUATE, CallerRole.DELEGATE})
_REFRESH: Final = frozenset({CallerRole.REFRESH})

_LONGEST: Final = 250_000
"""Largest request, in bytes, of callers that ask about themselves: parsing it blocks all other requests."""

_MASKED: Final = {501: ErrorBody}
_MASKED_AS_TEXT: Final = {501: str}
_PDP_CHALLENGE: Final = 'Bearer realm="Ranger PDP", Basic realm="Ranger PDP", charset="UTF-8"'


def _page(path: str, handler: Handler, summary: str, view: ConsoleView | None = None) -> ApiRoute:
    return ApiRoute(
        "GET",
        path,
        _DELEGATE,
        handler,
        summary,
        waits=view is not None,
        also={400: str} if view is not None else {},
        query=console.QUERIES[view] if view is not None else {},
        content_type=page.HTML,
        error=page.html_error,
    )


def _twin(name: str, handler: Handler, summary: str, gives: type, view: ConsoleView | None = None) -> ApiRoute:
    return ApiRoute(
        "GET",
        f"/console/v1/{name}",
        _DELEGATE,
        handler,
        summary,
        gives=gives,
        waits=view is not None,
        also={400: ErrorBody} if view is not None else {},
        query=console.QUERIES[view] if view is not None else {},
    )


CDAP: Final = (
    ApiRoute(
        "POST", "/cdap/v1/enforce", _ENFORCE, cdap_api.enforce, "Evaluate one permission check",
        EnforceRequest, EnforceReply,
        waits=cdap_api.may_wait, works=cdap_api.may_be_long,
    ),
    ApiRoute(
        "POST", "/cdap/v1/visible", _ENFORCE, cdap_api.visible, "List which of these a user may see",
        VisibleRequest, VisibleReply, works=True,
    ),
    ApiRoute(
        "POST", "/cdap/v1/operation", _ASK, operation_api.operation, "Decide an operation with all that it involves",
        OperationRequest, OperationReply,
        waits=cdap_api.audit_waits, works=True, longest=_LONGEST,
    ),
    ApiRoute("POST", "/cdap/v1/hello", _ENFORCE, cdap_api.hello, "Compare settings with CDAP", Handshake, HelloReply),
)  # fmt: skip

EVENTS: Final = (
    ApiRoute(
        "POST", "/cdap/v1/audit", _AUDIT, events_api.audit, "Store records of CDAP's answers for the sync job",
        AuditRequest, AuditReply, waits=True,
    ),
)  # fmt: skip

GRANTS: Final = (
    ApiRoute(
        "POST", "/cdap/v1/grant", _GRANT, grant_api.grant, "Grant permissions on behalf of a user of CDAP",
        GrantRequest, GrantReply, waits=True,
    ),
    ApiRoute(
        "POST", "/cdap/v1/revoke", _GRANT, grant_api.revoke, "Revoke permissions on behalf of a user of CDAP",
        GrantRequest, GrantReply, waits=True,
    ),
    ApiRoute(
        "POST", "/cdap/v1/grants", _GRANT, grant_api.grants, "List the grants of a principal",
        GrantsRequest, GrantsReply, waits=True,
    ),
)  # fmt: skip

ROLES: Final = (
    ApiRoute(
        "POST", "/cdap/v1/role/create", _GRANT, role_api.create, "Create a role on behalf of a user of CDAP",
        RoleRequest, RoleReply, waits=True,
    ),
    ApiRoute(
        "POST", "/cdap/v1/role/drop", _GRANT, role_api.drop, "Delete a role on behalf of a user of CDAP",
        RoleRequest, RoleReply, waits=True,
    ),
    ApiRoute(
        "POST", "/cdap/v1/role/add", _GRANT, role_api.add, "Add a member to a role on behalf of a user of CDAP",
        RoleRequest, RoleReply, waits=True,
    ),
    ApiRoute(
        "POST", "/cdap/v1/role/remove", _GRANT, role_api.remove, "Remove a member from a role on behalf of a user",
        RoleRequest, RoleReply, waits=True,
    ),
    ApiRoute(
        "POST", "/cdap/v1/roles", _GRANT, role_api.roles, "List roles", RolesRequest, RolesReply, waits=True,
    ),
)  # fmt: skip

POLICIES: Final = (
    ApiRoute(
        "GET", "/cdap/v1/policies", _ASK | _REFRESH, policies_api.policies, "The policies in effect, or newer ones",
        gives=PoliciesReply, waits=True, query=policies_api.QUERY, also={400: ErrorBody},
    ),
    ApiRoute(
        "POST", "/cdap/v1/refresh", _REFRESH, policies_api.refresh, "Request newer policies",
        RefreshRequest, PoliciesReply,
    ),
)  # fmt: skip

PDP: Final = (
    ApiRoute(
        "POST", "/authz/v1/authorize", _ASK, pdp.authorize, "Evaluate one permission check of the PDP API",
        AuthzRequest, AuthzResult, waits=cdap_api.audit_waits,
        works=True, longest=_LONGEST, also=_MASKED, challenge=_PDP_CHALLENGE,
    ),
    ApiRoute(
        "POST", "/authz/v1/authorizeMulti", _ASK, pdp.authorize_multi, "Evaluate several permission checks",
        MultiAuthzRequest, MultiAuthzResult, waits=cdap_api.audit_waits,
        works=True, longest=_LONGEST, also=_MASKED, challenge=_PDP_CHALLENGE,
    ),
    ApiRoute(
        "POST", "/authz/v1/permissions", _DELEGATE, pdp.permissions, "List who may do what on a resource",
        ResourcePermissionsRequest, ResourcePermissions, works=True, longest=_LONGEST, also=_MASKED,
        challenge=_PDP_CHALLENGE,
    ),
)  # fmt: skip

AUTHZEN: Final = (
    ApiRoute(
        "POST", authzen.EVALUATION, _ASK, authzen.evaluation, "Evaluate one AuthZEN request",
        EvaluationRequest, EvaluationResponse, waits=cdap_api.audit_waits,
        works=True,
        longest=_LONGEST, also=_MASKED_AS_TEXT, error=text_error, challenge=_PDP_CHALLENGE,
    ),
    ApiRoute(
        "POST", authzen.EVALUATIONS, _ASK, authzen.evaluations, "Evaluate AuthZEN requests",
        EvaluationsRequest, EvaluationsResponse, waits=cdap_api.audit_waits,
        works=True,
        longest=_LONGEST, also=_MASKED_AS_TEXT, error=text_error, challenge=_PDP_CHALLENGE,
    ),
    ApiRoute(
        "GET", "/.well-known/authzen-configuration", _ASK, authzen.configuration, "AuthZEN metadata",
        gives=AuthZenConfiguration, error=text_error, challenge=_PDP_CHALLENGE,
    ),
)  # fmt: skip

HEALTH: Final = (
    ApiRoute("GET", "/health/live", _PUBLIC, health.live, "Liveness", gives=Live),
    ApiRoute("GET", "/health/ready", _PUBLIC, health.ready, "Readiness", gives=Ready, also={503: Ready}),
    ApiRoute("GET", "/metrics", _PUBLIC, health.metrics, "Prometheus metrics", content_type=CONTENT_TYPE),
)

PAGE: Final = (
    _page(page.PATHS[ConsoleView.ASK], console.ask_page, "The console: permission checks and their reasons",
          ConsoleView.ASK),
    _page(page.PATHS[ConsoleView.WHO], console.who_page, "The console: who has access", ConsoleView.WHO),
    _page(page.PATHS[ConsoleView.WHAT], console.what_page, "The console: what a user has access to", ConsoleView.WHAT),
    _page(page.PATHS[ConsoleView.MATRIX], console.matrix_page, "The console: the matrix of a namespace",
          ConsoleView.MATRIX),
    _page(page.PATHS[ConsoleView.IMPACT], console.impact_form, "The console: a form for a file of policies"),
    ApiRoute(
        "POST", page.PATHS[ConsoleView.IMPACT], _DELEGATE, console.impact_page, "The console: impact of a file",
        UploadedFileForm, waits=True, also={400: str}, accepts=FORM, content_type=page.HTML, error=page.html_error,
    ),
    _page(page.PATHS["status"], console.status_html, "The console: freshness and problems of the policies"),
    ApiRoute("GET", "/style.css", _DELEGATE, page.style, "Style sheet of the page", content_type=page.CSS),
)  # fmt: skip

CONSOLE: Final = (
    _twin("ask", console.ask_json, "Check a permission and explain the answer", AskAnswer, ConsoleView.ASK),
    _twin("who", console.who_json, "List who has access to an entity or a pattern", WhoAnswer, ConsoleView.WHO),
    _twin("what", console.what_json, "List what a user has access to", WhatAnswer, ConsoleView.WHAT),
    _twin("matrix", console.matrix_json, "Access matrix of a namespace", MatrixAnswer, ConsoleView.MATRIX),
    ApiRoute(
        "POST", "/console/v1/impact", _DELEGATE, console.impact_json, "Access that a set of policies adds and removes",
        UploadedPolicies, ImpactAnswer, waits=True, query=console.QUERIES[ConsoleView.IMPACT],
    ),
    _twin("status", console.status_json, "Freshness and problems of the policies", StatusAnswer),
)  # fmt: skip

_ALL: Final = (*CDAP, *EVENTS, *GRANTS, *ROLES, *POLICIES, *PDP, *AUTHZEN, *HEALTH, *PAGE, *CONSOLE)

ROUTES: Final = (*_ALL, openapi.route(_ALL))
