"""`Step`: a change of one object in Ranger Admin, as every plan has it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

from ranger_cdap.ranger.changes.role_members import NO_MEMBERS, RoleMembers
from ranger_cdap.ranger.changes.setup_rights import Holder
from ranger_cdap.ranger_model.policy import Policy

Json = dict[str, Any]


class StepChange(StrEnum):
    """Kind of a step; `KEEP` and `BLOCKED` change nothing, and a blocked one needs a person."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    KEEP = "keep"
    BLOCKED = "blocked"


_CHANGING: Final = frozenset({StepChange.CREATE, StepChange.UPDATE, StepChange.DELETE})


@dataclass(frozen=True, slots=True)
class Step:
    """A change of one object (`policy`, `role`, `service` or `service definition`), or the reason for none.

    `wanted` is the document to be, `there` that of Ranger Admin. A role gets the members `adds` and loses `removes`;
    `receivers` get rights by a policy. An object that `stays` differs from what is wanted and is left as it is.
    """

    change: StepChange
    kind: str
    name: str
    detail: str = ""
    zone: str = ""
    wanted: Json | None = None
    there: Json | None = None
    adds: RoleMembers = NO_MEMBERS
    removes: RoleMembers = NO_MEMBERS
    receivers: tuple[Holder, ...] = ()
    stays: bool = False

    @property
    def changes(self) -> bool:
        """True if the step changes Ranger."""
        return self.change in _CHANGING

    @property
    def differs(self) -> bool:
        """True if Ranger is not as wanted, whether or not the step changes that."""
        return self.stays or self.change is not StepChange.KEEP

    @property
    def subject(self) -> str:
        """The object, with its kind."""
        return f"{self.kind} `{self.name}`" + (f" in zone `{self.zone}`" if self.zone else "")

    def __str__(self) -> str:
        return f"{self.change.value} {self.subject}" + (f": {self.detail}" if self.detail else "")

    def document(self) -> Json:
        """Return the step as JSON, with the version in Ranger and a digest of the content to be."""
        there = self.there or {}
        return {
            "change": self.change.value,
            "kind": self.kind,
            "name": self.name,
            "zone": self.zone,
            "detail": self.detail,
            "id": there.get("id"),
            "version": there.get("version"),
            "sha256": None if self.wanted is None else _digest(self.wanted),
        }


def policy_step(
    before: Policy | None, after: Policy, document: Json, detail: str, receivers: Sequence[Holder] = ()
) -> Step:
    """Return the step that creates a policy, or replaces items and labels of the one that Ranger has as `document`."""
    wanted, there = msgspec.to_builtins(after), None
    if before is not None:
        items = {"policyItems": _items(before, after, document), "policyLabels": after.policy_labels}
        wanted, there = {**document, **items}, document
    change = StepChange.CREATE if before is None else StepChange.UPDATE
    return Step(change, "policy", after.name, detail, after.zone_name, wanted, there, receivers=tuple(receivers))


def _items(before: Policy, after: Policy, document: Json) -> list[Any]:
    """Return the items as JSON: those that did not change are Ranger's own, with members unknown here."""
    sent: list[Any] = document.get("policyItems") or []
    same = len(sent) == len(before.policy_items)  # unless Ranger sent a null
    known = {id(item): sent[number] for number, item in enumerate(before.policy_items) if same}
    return [known.get(id(item), msgspec.to_builtins(item)) for item in after.policy_items]


def _digest(policy: Json) -> str:
    return hashlib.sha256(msgspec.json.encode(policy, order="sorted")).hexdigest()
