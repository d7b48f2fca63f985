"""A client of the decision service for programs; needs the extra `client`.

`DecisionClient` and `AsyncDecisionClient` send the requests that the functions of this module return.
"""

from ranger_cdap.client.client_settings import ClientSettings
from ranger_cdap.client.decision_client import AsyncDecisionClient, DecisionClient
from ranger_cdap.client.operation_answer import OperationDecision, answer_of, check
from ranger_cdap.client.service_request import (
    AccessDecision,
    AccessDecisions,
    CheckDecision,
    EvaluationDecision,
    EvaluationDecisions,
    Liveness,
    Readiness,
    ServiceRequest,
    VisibilityDecisions,
    authorize,
    authorize_multi,
    enforce,
    evaluation,
    evaluations,
    live,
    operation,
    permissions,
    ready,
    visible,
)
from ranger_cdap.config.secret import Secret, resolve_secret
from ranger_cdap.wire.authzen_wire import (
    AuthZenAction,
    AuthZenEntity,
    EvaluationOptions,
    EvaluationRequest,
    EvaluationsRequest,
)
from ranger_cdap.wire.cdap_wire import EnforceRequest, VisibleRequest, WireEntity, WirePrincipal, WireStamp
from ranger_cdap.wire.pdp_wire import (
    AccessContext,
    AccessInfo,
    AuthzRequest,
    MultiAuthzRequest,
    PdpDecision,
    ResourceInfo,
    ResourcePermissions,
    ResourcePermissionsRequest,
    UserInfo,
)

__all__ = [
    "AccessContext",
    "AccessDecision",
    "AccessDecisions",
    "AccessInfo",
    "AsyncDecisionClient",
    "AuthZenAction",
    "AuthZenEntity",
    "AuthzRequest",
    "CheckDecision",
    "ClientSettings",
    "DecisionClient",
    "EnforceRequest",
    "EvaluationDecision",
    "EvaluationDecisions",
    "EvaluationOptions",
    "EvaluationRequest",
    "EvaluationsRequest",
    "Liveness",
    "MultiAuthzRequest",
    "OperationDecision",
    "PdpDecision",
    "Readiness",
    "ResourceInfo",
    "ResourcePermissions",
    "ResourcePermissionsRequest",
    "Secret",
    "ServiceRequest",
    "UserInfo",
    "VisibilityDecisions",
    "VisibleRequest",
    "WireEntity",
    "WirePrincipal",
    "WireStamp",
    "answer_of",
    "authorize",
    "authorize_multi",
    "check",
    "enforce",
    "evaluation",
    "evaluations",
    "live",
    "operation",
    "permissions",
    "ready",
    "resolve_secret",
    "visible",
]
