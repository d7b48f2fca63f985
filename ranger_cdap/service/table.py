"""All routes of the decision service."""

from __future__ import annotations

from functools import partial
from typing import Final

from ranger_cdap.service.api import (
    authzen,
    cdap_api,
    events_api,
    grant_api,
    health,
    openapi,
    operation_api,
    pdp,
    policies_api,
    role_api,
)
from ranger_cdap.service.api.routes import ApiRoute
from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.service.http.metrics import CONTENT_TYPE
from ranger_cdap.service.http.reply import ErrorBody, text_error
from ranger_cdap.service.state.handshake import Handshake
from ranger_cdap.wire.authzen_wire import (
    AuthZenConfiguration,
    EvaluationRequest,
    EvaluationResponse,
    EvaluationsRequest,
    EvaluationsResponse,
)
from ranger_cdap.wire.cdap_wire import (
    EnforceReply,
    EnforceRequest,
    HelloReply,
    PoliciesReply,
    RefreshRequest,
    VisibleReply,
    VisibleRequest,
)
from ranger_cdap.wire.event_wire import AuditReply, AuditRequest
from ranger_cdap.wire.grant_wire import GrantReply, GrantRequest, GrantsReply, GrantsRequest
from ranger_cdap.wire.health_wire import Live, Ready
from ranger_cdap.wire.operation_wire import OperationReply, OperationRequest
from ranger_cdap.wire.pdp_wire import (
    AuthzRequest,
    AuthzResult,
    MultiAuthzRequest,
    MultiAuthzResult,
    ResourcePermissions,
    ResourcePermissionsRequest,
)
from ranger_cdap.wire.role_wire import RoleReply, RoleRequest, RolesReply, RolesRequest

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


_ALL: Final = (
    ApiRoute(
        "POST",
        "/cdap/v1/enforce",
        _ENFORCE,
        cdap_api.enforce,
        "Evaluate one permission check",
        EnforceRequest,
        EnforceReply,
        waits=cdap_api.may_wait,
        works=cdap_api.may_be_long,
    ),
    ApiRoute(
        "POST",
        "/cdap/v1/visible",
        _ENFORCE,
        cdap_api.visible,
        "List which of these a user may see",
        VisibleRequest,
        VisibleReply,
        works=True,
    ),
    ApiRoute(
        "POST",
        "/cdap/v1/operation",
        _ASK,
        operation_api.operation,
        "Decide an operation with all that it involves",
        OperationRequest,
        OperationReply,
        waits=cdap_api.audit_waits,
        works=True,
        longest=_LONGEST,
    ),
    ApiRoute("POST", "/cdap/v1/hello", _ENFORCE, cdap_api.hello, "Compare settings with CDAP", Handshake, HelloReply),
    ApiRoute(
        "POST",
        "/cdap/v1/audit",
        _AUDIT,
        events_api.audit,
        "Store records of CDAP's answers for the sync job",
        AuditRequest,
        AuditReply,
        waits=True,
    ),
    ApiRoute(
        "POST",
        "/cdap/v1/grant",
        _GRANT,
        partial(grant_api.changed, what="grant"),
        "Grant permissions on behalf of a user of CDAP",
        GrantRequest,
        GrantReply,
        waits=True,
    ),
    ApiRoute(
        "POST",
        "/cdap/v1/revoke",
        _GRANT,
        partial(grant_api.changed, what="revoke"),
        "Revoke permissions on behalf of a user of CDAP",
        GrantRequest,
        GrantReply,
        waits=True,
    ),
    ApiRoute(
        "POST",
        "/cdap/v1/grants",
        _GRANT,
        grant_api.grants,
        "List the grants of a principal",
        GrantsRequest,
        GrantsReply,
        waits=True,
    ),
    ApiRoute(
        "POST",
        "/cdap/v1/role/create",
        _GRANT,
        partial(role_api.changed, what="create"),
        "Create a role on behalf of a user of CDAP",
        RoleRequest,
        RoleReply,
        waits=True,
    ),
    ApiRoute(
        "POST",
        "/cdap/v1/role/drop",
        _GRANT,
        partial(role_api.changed, what="drop"),
        "Delete a role on behalf of a user of CDAP",
        RoleRequest,
        RoleReply,
        waits=True,
    ),
    ApiRoute(
        "POST",
        "/cdap/v1/role/add",
        _GRANT,
        partial(role_api.changed, what="add"),
        "Add a member to a role on behalf of a user of CDAP",
        RoleRequest,
        RoleReply,
        waits=True,
    ),
    ApiRoute(
        "POST",
        "/cdap/v1/role/remove",
        _GRANT,
        partial(role_api.changed, what="remove"),
        "Remove a member from a role on behalf of a user",
        RoleRequest,
        RoleReply,
        waits=True,
    ),
    ApiRoute(
        "POST",
        "/cdap/v1/roles",
        _GRANT,
        role_api.roles,
        "List roles",
        RolesRequest,
        RolesReply,
        waits=True,
    ),
    ApiRoute(
        "GET",
        "/cdap/v1/policies",
        _ASK | _REFRESH,
        policies_api.policies,
        "The policies in effect, or newer ones",
        gives=PoliciesReply,
        waits=True,
        query=policies_api.QUERY,
        also={400: ErrorBody},
    ),
    ApiRoute(
        "POST",
        "/cdap/v1/refresh",
        _REFRESH,
        policies_api.refresh,
        "Request newer policies",
        RefreshRequest,
        PoliciesReply,
    ),
    ApiRoute(
        "POST",
        "/authz/v1/authorize",
        _ASK,
        pdp.authorize,
        "Evaluate one permission check of the PDP API",
        AuthzRequest,
        AuthzResult,
        waits=cdap_api.audit_waits,
        works=True,
        longest=_LONGEST,
        also=_MASKED,
    ),
    ApiRoute(
        "POST",
        "/authz/v1/authorizeMulti",
        _ASK,
        pdp.authorize_multi,
        "Evaluate several permission checks",
        MultiAuthzRequest,
        MultiAuthzResult,
        waits=cdap_api.audit_waits,
        works=True,
        longest=_LONGEST,
        also=_MASKED,
    ),
    ApiRoute(
        "POST",
        "/authz/v1/permissions",
        _DELEGATE,
        pdp.permissions,
        "List who may do what on a resource",
        ResourcePermissionsRequest,
        ResourcePermissions,
        works=True,
        longest=_LONGEST,
        also=_MASKED,
    ),
    ApiRoute(
        "POST",
        authzen.EVALUATION,
        _ASK,
        authzen.evaluation,
        "Evaluate one AuthZEN request",
        EvaluationRequest,
        EvaluationResponse,
        waits=cdap_api.audit_waits,
        works=True,
        longest=_LONGEST,
        also=_MASKED_AS_TEXT,
        error=text_error,
    ),
    ApiRoute(
        "POST",
        authzen.EVALUATIONS,
        _ASK,
        authzen.evaluations,
        "Evaluate AuthZEN requests",
        EvaluationsRequest,
        EvaluationsResponse,
        waits=cdap_api.audit_waits,
        works=True,
        longest=_LONGEST,
        also=_MASKED_AS_TEXT,
        error=text_error,
    ),
    ApiRoute(
        "GET",
        "/.well-known/authzen-configuration",
        _PUBLIC,
        authzen.configuration,
        "AuthZEN metadata",
        gives=AuthZenConfiguration,
        error=text_error,
    ),
    ApiRoute("GET", "/health/live", _PUBLIC, health.live, "Liveness", gives=Live),
    ApiRoute("GET", "/health/ready", _PUBLIC, health.ready, "Readiness", gives=Ready, also={503: Ready}),
    ApiRoute("GET", "/metrics", _PUBLIC, health.metrics, "Prometheus metrics", content_type=CONTENT_TYPE),
)

ROUTES: Final = (*_ALL, *openapi.routes(_ALL))
