"""Problems of a download, with codes and messages that are stable across releases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.json_repair import shown


class ProblemCode(StrEnum):
    """Kinds of problem; docs/reference/policy-problems.md lists the effect of each."""

    UNREADABLE_POLICY = "unreadable-policy"
    DUPLICATE_ID = "duplicate-id"
    NOT_ABOUT_ACCESS = "not-about-access"
    UNKNOWN_RESOURCE = "unknown-resource"
    NO_HIERARCHY = "no-hierarchy"
    RESOURCE_EXPRESSION = "resource-expression"
    VALUE_TOO_LONG = "value-too-long"
    COSTLY_RESOURCE = "costly-resource"
    COSTLY_POLICY = "costly-policy"
    UNKNOWN_ACCESS_TYPE = "unknown-access-type"
    UNUSABLE_CONDITION = "unusable-condition"
    UNREADABLE_SCHEDULE = "unreadable-schedule"
    UNREADABLE_ZONE_RESOURCE = "unreadable-zone-resource"
    UNREADABLE_TAGGED_RESOURCE = "unreadable-tagged-resource"
    UNREADABLE_TAG_VALIDITY = "unreadable-tag-validity"
    UNREADABLE_TAG_DATE = "unreadable-tag-date"
    UNKNOWN_TAG = "unknown-tag"
    UNREADABLE_AUDIT_FILTERS = "unreadable-audit-filters"
    ROLE_CYCLE = "role-cycle"


@dataclass(frozen=True, slots=True)
class PolicyIssue:
    """Issue of a policy, and its place: a path such as `denyPolicyItems[1].conditions[0]`."""

    code: ProblemCode
    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """Part of a download that does not have the intended effect, and the effect it has.

    `policy_id` is None outside policies, and for a policy without a readable id; `place` is a path in the policy, or in
    the download if it is not about a policy.
    """

    policy_id: int | None
    policy_name: str
    place: str
    code: ProblemCode
    message: str

    def __str__(self) -> str:
        where = f"policy {self.policy_id} ({self.policy_name}), " if self.policy_id is not None else ""
        where = where or (f"policy ({self.policy_name}), " if self.policy_name else "")
        return f"{where}{self.place or 'as a whole'}: {self.message} [{self.code}]"


class Unusable(PolicySetError):
    """Raised for an unusable policy; `issues` hold the reasons."""

    def __init__(self, issues: Iterable[PolicyIssue]) -> None:
        self.issues = tuple(issues)
        super().__init__("; ".join(f"{d.place}: {d.message}" if d.place else d.message for d in self.issues))


def download_problems(issues: Iterable[PolicyIssue]) -> Iterator[Problem]:
    """Yield issues outside policies as problems."""
    return (Problem(None, "", d.place, d.code, d.message) for d in issues)


def policy_problems(id_: int | None, name: str, issues: Iterable[PolicyIssue], effect: str = "") -> Iterator[Problem]:
    """Yield the issues of a policy as problems; `effect` is how the engine treats it."""
    ending = f"; {effect}" if effect else ""
    return (Problem(id_, shown(name), shown(d.place), d.code, d.message + ending) for d in issues)


def name_and_id(policy: Any) -> tuple[str, int | None]:
    """Return name and id of a policy that is not validated, as far as they are readable."""
    known: Mapping[str, Any] = policy if isinstance(policy, dict) else {}
    name, id_ = known.get("name"), known.get("id")
    readable = isinstance(id_, int) and not isinstance(id_, bool)
    return (name if isinstance(name, str) else ""), (id_ if readable else None)
