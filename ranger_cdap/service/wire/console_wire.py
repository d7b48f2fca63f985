"""Answers of the console, as its pages show them and as JSON; the rows are those of the commands with `--json`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType


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
    """A permission check with its reasons; `pending` says if a grant of the sync job is still to come."""

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
    pending: str = ""


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


# --- matrix -----------------------------------------------------------------------------------------------------------


class MatrixColumn(ConsoleAnswer, frozen=True):
    """A subject: `everybody`, a `user` with their groups, or a `group`."""

    kind: str
    name: str
    groups: list[str]


class MatrixAction(ConsoleAnswer, frozen=True):
    """Access to one action, and whether it is allowed now."""

    standing: str
    allowed_now: bool
    policy: NamedPolicy | None
    depends: str | UnsetType | None = UNSET


class MatrixCellBody(MatrixColumn, frozen=True):
    """Accesses of a subject, by action."""

    actions: dict[str, MatrixAction]


class MatrixRow(ConsoleAnswer, frozen=True):
    """An entity, or a pattern, with the cells of subjects to whom a policy applies."""

    entity: NamedEntity
    cells: list[MatrixCellBody]


class MatrixAnswer(ConsoleAnswer, frozen=True):
    """Access matrix of a namespace at one time."""

    namespace: str
    service: str
    policy_version: int
    time: str
    columns: list[MatrixColumn]
    rows: list[MatrixRow]
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


class UploadedPolicies(msgspec.Struct):
    """A policy download, a plugin's cache file, or an export, whole: what it leaves out counts as removed."""

    policies: list[Any]
    service_name: str = msgspec.field(name="serviceName", default="")

    @staticmethod
    def read(data: bytes) -> bytes:
        """Return the document undecoded, for the code that reads the same from a file.

        Raises:
            msgspec.MsgspecError: it is not a JSON object with policies.
        """
        _uploaded.decode(data)
        return data


class UploadedFileForm(msgspec.Struct):
    """The form with a file of policies, as JSON or YAML."""

    file: Annotated[str, Meta(extra_json_schema={"format": "binary"})]
    access: str = ""


class _Outline(msgspec.Struct):
    policies: msgspec.Raw


# msgspec learns a type at its first use; threads that do so at once can end the process, so it is done on import.
_uploaded = msgspec.json.Decoder(_Outline)


# --- status -----------------------------------------------------------------------------------------------------------


class PolicyProblem(ConsoleAnswer, frozen=True):
    """A problem with a policy, or with a whole set."""

    policy_id: int | None
    policy_name: str
    place: str
    code: str
    message: str


class ServiceStatus(ConsoleAnswer, frozen=True):
    """The policies of one Ranger service: how fresh they are, and what is wrong with them."""

    name: str
    state: str
    decides: bool
    reason: str
    version: int | None
    confirmed: str | None
    age_seconds: float | None
    cache_problem: str
    problem_count: int
    problems: list[PolicyProblem]


class StatusAnswer(ConsoleAnswer, frozen=True):
    """Freshness and problems of the policies, and the configuration of decisions."""

    services: list[ServiceStatus]
    instance: str
    profile: str
    profile_title: str
    enforcement: str
    everything_enforced: bool
    master: str
    grants: str
    differences: list[str]
