"""Answers of the console, as its pages show them; the rows are those of the commands with `--json`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType


class ConsoleAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An answer; a member that it does not have is a fault, so that page and command show the same."""


class NamedEntity(ConsoleAnswer, frozen=True):
    """An entity, or a pattern of entities; names may contain dots, so its parts are separate."""

    type: str
    parts: list[str]

    def __str__(self) -> str:
        return f"{self.type}:{'.'.join(self.parts)}"


class NamedPolicy(ConsoleAnswer, frozen=True):
    """A policy."""

    id: int
    name: str | None


class NamedItem(ConsoleAnswer, frozen=True):
    """An item of a policy, by its list and its number in it, from 1."""

    policy: NamedPolicy | None
    side: str = msgspec.field(name="list")
    number: int


# --- ask --------------------------------------------------------------------------------------------------------------


class LackedPrivilege(ConsoleAnswer, frozen=True):
    """A privilege that is missing."""

    user: str
    capacity: str
    actions: list[str]
    entity: NamedEntity


class OtherPolicy(ConsoleAnswer, frozen=True):
    """The outcome of another policy on the entity."""

    policy: NamedPolicy | None
    outcome: str
    reason: str


class ExplainedPrivilege(ConsoleAnswer, frozen=True):
    """A privilege that was evaluated, why it is held or not, and what to change to reverse that."""

    user: str
    capacity: str
    actions: list[str]
    entity: NamedEntity
    held: bool
    policy: NamedPolicy | None
    why: str
    items: list[NamedItem]
    change: str
    others: list[OtherPolicy]


class AskAnswer(ConsoleAnswer, frozen=True):
    """A permission check with its reasons."""

    allowed: bool
    enforced: bool
    ready: bool
    user: str
    operation: str
    entity: NamedEntity
    requirements: list[str]
    requirement_sentences: list[str]
    reason: str
    missing: list[LackedPrivilege]
    policies: list[int]
    alternatives: list[list[ExplainedPrivilege]]
    changes: list[str]


# --- who, what --------------------------------------------------------------------------------------------------------


class LevelSet(ConsoleAnswer, frozen=True):
    """Values of a level of a resource; with `excludes`, all others."""

    level: str
    values: list[str]
    excludes: bool


class LevelValue(ConsoleAnswer, frozen=True):
    """The value of a level in a request, or of a context attribute."""

    level: str
    value: str


class ContextValue(ConsoleAnswer, frozen=True):
    """A value of a request's context."""

    name: str
    value: Any


class EvidenceRequest(ConsoleAnswer, frozen=True):
    """A request that the engine decides as its row says."""

    user: str | None
    groups: list[str]
    roles: list[str]
    access: str
    resource: list[LevelValue]
    client_ip: str | None
    access_time: str | None
    action: str | None
    cluster_name: str | None
    cluster_type: str | None
    context: list[ContextValue]
    owner: str | UnsetType | None = UNSET


class ItemAccessRow(ConsoleAnswer, frozen=True):
    """Access by one item on one resource; `except` and `undecided` limit it."""

    policy: NamedPolicy | None
    side: str | None = msgspec.field(name="list")
    item: int | None
    tag: str | None
    zone: str | None
    who: list[str]
    accesses: list[str]
    resource: list[LevelSet]
    conditions: list[str]
    exceptions: list[str] = msgspec.field(name="except")
    certainty: Literal["exact", "may"]
    undecided: list[str]
    witnesses: list[EvidenceRequest]
    whole: bool | UnsetType = UNSET


class HeldAccess(ConsoleAnswer, frozen=True):
    """Access of one type, by which policy, and on what it depends."""

    standing: str
    policy: NamedPolicy | None
    depends: str | UnsetType | None = UNSET


class HolderRow(ConsoleAnswer, frozen=True):
    """Holder of access to one entity: `everybody`, a `user`, a `group` or a `role`."""

    kind: str
    name: str
    groups: list[str]
    accesses: dict[str, HeldAccess]


class WhoAnswer(ConsoleAnswer, frozen=True):
    """Holders of access to an entity, or rows of a pattern; the other list is empty."""

    entity: NamedEntity
    accesses: list[str]
    holders: list[HolderRow] = []
    rows: list[ItemAccessRow] = []
    notes: list[str] = []


class WhatAnswer(ConsoleAnswer, frozen=True):
    """All access of a user, and the access that denials and exceptions take away."""

    user: str
    groups: list[str]
    roles: list[str]
    allowed: list[ItemAccessRow]
    denied: list[ItemAccessRow]
    notes: list[str] = []


# --- impact -----------------------------------------------------------------------------------------------------------


class ChangedAccessRow(ConsoleAnswer, frozen=True):
    """Access that is gained or lost; `partial`: on the rest of `item_resource` both sets allow it."""

    policy: NamedPolicy | None
    item: int | None
    tag: str | None
    zone: str | None
    who: list[str]
    accesses: list[str]
    resource: list[LevelSet]
    item_resource: list[LevelSet]
    conditions: list[str]
    exceptions: list[str] = msgspec.field(name="except")
    partial: bool
    certainty: Literal["exact", "may"]
    undecided: list[str]
    witnesses: list[EvidenceRequest]


class ImpactAnswer(ConsoleAnswer, frozen=True):
    """Access that an uploaded set of policies adds to that in effect, and removes from it."""

    service: str
    gained: list[ChangedAccessRow]
    lost: list[ChangedAccessRow]
    notes: list[str] = []


# --- status -----------------------------------------------------------------------------------------------------------


class PolicyProblem(ConsoleAnswer, frozen=True):
    """A problem with a policy, or with a whole set."""

    policy_id: int | None
    policy_name: str
    place: str
    code: str
    message: str


class StatusAnswer(ConsoleAnswer, frozen=True):
    """The policies, how fresh they are and what is wrong with them, and the configuration of decisions."""

    service: str
    state: str
    decides: bool
    reason: str
    version: int | None
    confirmed: str
    cache_problem: str
    problem_count: int
    problems: list[PolicyProblem]
    instance: str
    profile: str
    enforcement: str
    everything_enforced: bool
    master: str
