"""The bodies of AuthZEN 1.0 (`/access/v1`); unknown fields are ignored."""

from __future__ import annotations

from typing import Literal

import msgspec

from ranger_cdap.wire.pdp_wire import Attributes, Name, PolicyInfo


class Open(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """A body that may have unknown fields."""


class AuthZenEntity(Open):
    """A subject or a resource."""

    type: Name | None = None
    id: str | None = None
    properties: Attributes | None = None


class AuthZenAction(Open):
    """The action of the subject."""

    name: Name | None = None
    properties: Attributes | None = None


class EvaluationRequest(Open):
    """One evaluation: a subject, an action, a resource and the context."""

    subject: AuthZenEntity | None = None
    action: AuthZenAction | None = None
    resource: AuthZenEntity | None = None
    context: Attributes | None = None


class EvaluationOptions(Open):
    """Options of an evaluation of several requests."""

    evaluations_semantic: Literal["execute_all", "deny_on_first_deny", "permit_on_first_permit"] = "execute_all"


class EvaluationsRequest(EvaluationRequest):
    """Several evaluations; an item's missing parts are those of the whole."""

    evaluations: list[EvaluationRequest] | None = None
    options: EvaluationOptions | None = None


class EvaluationError(Open):
    """The reason why one of several was not evaluated."""

    status: int
    message: str


class EvaluationContext(Open):
    """Ranger's additional data: the deciding policy, the version of all policies, and the id of the decision."""

    policy: PolicyInfo | None = None
    policy_version: int | None = None
    decision_id: str | None = None
    enforced: bool = True
    reason_admin: dict[str, str] | None = None
    reason_user: dict[str, str] | None = None
    error: EvaluationError | None = None


class EvaluationResponse(Open):
    """The decision."""

    decision: bool
    context: EvaluationContext | None = None


class EvaluationsResponse(Open):
    """The decisions in the order of the request; without a list in the request, the one decision."""

    evaluations: list[EvaluationResponse] | None = None
    decision: bool | None = None
    context: EvaluationContext | None = None


class AuthZenConfiguration(Open):
    """The endpoints of this Policy Decision Point."""

    policy_decision_point: str
    access_evaluation_endpoint: str
    access_evaluations_endpoint: str
