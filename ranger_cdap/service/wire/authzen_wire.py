"""The bodies of AuthZEN 1.0 (`/access/v1`); unknown fields are ignored."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from ranger_cdap.service.wire.pdp_wire import Attributes, Name, PolicyInfo


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


class PageRequest(Open):
    """The part of the results that is wanted: `token` is the `next_token` of the page before."""

    token: str | None = None
    limit: Annotated[int, msgspec.Meta(ge=0)] | None = None


class SearchRequest(EvaluationRequest):
    """A search: the id or name of what is searched for is ignored."""

    page: PageRequest | None = None


class PageInfo(Open):
    """The number of results on this page and in all; an empty `next_token` ends them."""

    next_token: str
    count: int
    total: int


class LevelPatternInfo(Open, rename="camel"):
    """Values of one level of a resource, as in Ranger's policies."""

    values: list[str]
    is_excludes: bool = False


Levels = dict[str, LevelPatternInfo]


class ExceptedResources(Open):
    """Resources that a policy may deny, or that are in a zone."""

    resource: Levels
    policy: PolicyInfo | None = None
    zone: str | None = None


class PermittedPattern(Open):
    """Resources that a policy allows; without a policy, and not undecided, super users.

    If there is `within`, a resource must match one of these as well. `undecided`: it is not known whether all of them
    but the exceptions are allowed.
    """

    resource: Levels
    policy: PolicyInfo | None = None
    zone: str | None = None
    within: list[Levels] = []
    exceptions: list[ExceptedResources] = []
    undecided: bool = False


class SearchContext(Open):
    """Patterns of permitted resources that no policy names, and sentences on what may be missing."""

    patterns: list[PermittedPattern] = []
    undecided: list[str] = []


class SearchAnswer(Open):
    """Parts of the answers to all searches."""

    page: PageInfo | None = None
    context: SearchContext | None = None


class FoundEntity(Open):
    """A subject or resource found."""

    type: str
    id: str


class AuthZenSubjects(SearchAnswer, kw_only=True):
    """The subjects that may perform the action."""

    results: list[FoundEntity]


class AuthZenResources(SearchAnswer, kw_only=True):
    """The resources on which the subject may perform the action."""

    results: list[FoundEntity]


class AuthZenActionName(Open):
    """An action found."""

    name: str


class AuthZenActions(SearchAnswer, kw_only=True):
    """The actions the subject may perform."""

    results: list[AuthZenActionName]


class AuthZenConfiguration(Open):
    """The endpoints of this Policy Decision Point."""

    policy_decision_point: str
    access_evaluation_endpoint: str
    access_evaluations_endpoint: str
    search_subject_endpoint: str
    search_resource_endpoint: str
    search_action_endpoint: str
