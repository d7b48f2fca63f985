"""The bodies of AuthZEN 1.0 (`/access/v1`); what is unknown is not read."""

from __future__ import annotations

from typing import Literal

import msgspec

from ranger_cdap.service.wire.pdp_wire import Attributes, Name, PolicyInfo


class Open(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """A body that may hold more than what is read."""


class Entity(Open):
    """A subject or a resource."""

    type: Name | None = None
    id: str | None = None
    properties: Attributes | None = None


class Action(Open):
    """The action of the subject."""

    name: Name | None = None
    properties: Attributes | None = None


class EvaluationRequest(Open):
    """May the subject do this?"""

    subject: Entity | None = None
    action: Action | None = None
    resource: Entity | None = None
    context: Attributes | None = None


class EvaluationOptions(Open):
    """How far to go."""

    evaluations_semantic: Literal["execute_all", "deny_on_first_deny", "permit_on_first_permit"] = "execute_all"


class EvaluationsRequest(EvaluationRequest):
    """May the subject do each of these? What an item lacks is that of the whole."""

    evaluations: list[EvaluationRequest] | None = None
    options: EvaluationOptions | None = None


class EvaluationError(Open):
    """Why one of several was not decided."""

    status: int
    message: str


class DecisionContext(Open):
    """What Ranger says besides: the policy that decided, the version of all of them, and the name of the decision."""

    policy: PolicyInfo | None = None
    policy_version: int | None = None
    decision_id: str | None = None
    enforced: bool = True
    reason_admin: dict[str, str] | None = None
    reason_user: dict[str, str] | None = None
    error: EvaluationError | None = None


class Evaluated(Open):
    """The decision."""

    decision: bool
    context: DecisionContext | None = None


class EvaluatedAll(Open):
    """The decisions in the order asked; where none of several was asked, the one decision."""

    evaluations: list[Evaluated] | None = None
    decision: bool | None = None
    context: DecisionContext | None = None


class Subject(Open):
    """Somebody found."""

    type: str
    id: str


class Subjects(Open):
    """Who may do it."""

    results: list[Subject]


class ActionName(Open):
    """An action found."""

    name: str


class Actions(Open):
    """The actions the subject may perform."""

    results: list[ActionName]


class Configuration(Open):
    """The endpoints of this Policy Decision Point."""

    policy_decision_point: str
    access_evaluation_endpoint: str
    access_evaluations_endpoint: str
    search_subject_endpoint: str
    search_action_endpoint: str
