"""What is wrong with a download, in words and codes that stay the same from release to release."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ranger_cdap.errors import PolicySetError

_LONGEST = 80


class ProblemCode(StrEnum):
    """The kinds of problem; docs/reference/policy-problems.md says of each what the engine makes of it."""

    UNREADABLE_POLICY = "unreadable-policy"
    DUPLICATE_ID = "duplicate-id"
    NOT_ABOUT_ACCESS = "not-about-access"
    UNKNOWN_RESOURCE = "unknown-resource"
    NO_HIERARCHY = "no-hierarchy"
    RESOURCE_EXPRESSION = "resource-expression"
    VALUE_TOO_LONG = "value-too-long"
    COSTLY_RESOURCE = "costly-resource"
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
class Doubt:
    """Something that is not what it should be, and where: a path like `denyPolicyItems[1].conditions[0]`."""

    code: ProblemCode
    place: str
    message: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A part of a download that does not do what its author meant, and what the engine makes of it.

    `policy_id` is None where it is not a policy, or one without a readable id; `place` is a path inside the policy, or
    else inside the download.
    """

    policy_id: int | None
    policy_name: str
    place: str
    code: ProblemCode
    message: str

    def __str__(self) -> str:
        where = f"policy {self.policy_id} ({self.policy_name}), " if self.policy_id is not None else ""
        where = where or (f"policy ({self.policy_name}), " if self.policy_name else "")
        return f"{where}{self.place or 'the whole of it'}: {self.message} [{self.code}]"


class Unusable(PolicySetError):
    """A policy cannot be used as it stands; `doubts` say why."""

    def __init__(self, doubts: Iterable[Doubt]) -> None:
        self.doubts = tuple(doubts)
        super().__init__("; ".join(f"{d.place}: {d.message}" if d.place else d.message for d in self.doubts))


def of_download(doubts: Iterable[Doubt]) -> Iterator[Problem]:
    """Doubts about what is no policy, as problems."""
    return (Problem(None, "", d.place, d.code, d.message) for d in doubts)


def of_policy(id_: int | None, name: str, doubts: Iterable[Doubt], effect: str = "") -> Iterator[Problem]:
    """Doubts about a policy, as problems; `effect` is what the engine makes of it."""
    ending = f"; {effect}" if effect else ""
    return (Problem(id_, shown(name), shown(d.place), d.code, d.message + ending) for d in doubts)


def name_and_id(policy: Any) -> tuple[str, int | None]:
    """Name and id of a policy of which nothing is sure, as far as they can be read."""
    known: Mapping[str, Any] = policy if isinstance(policy, dict) else {}
    name, id_ = known.get("name"), known.get("id")
    readable = isinstance(id_, int) and not isinstance(id_, bool)
    return (name if isinstance(name, str) else ""), (id_ if readable else None)


def shown(text: str) -> str:
    """Foreign text as a message may hold it: of one line, and not too long."""
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)
