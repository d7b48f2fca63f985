"""Reasons why a user has or lacks a privilege, in terms of policies, and the changes that would reverse it."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, cast

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decision_context import DecisionContext
from ranger_cdap.authz.denial_text import denial_by
from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.authz.policy_index import ALLOW, ALLOW_EXCEPTIONS, DENY, ItemFound, PolicyIndex
from ranger_cdap.cdap.answer import Answer, EvaluatedPrivilege
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.profile import ACTIONS, ANY, VISIBLE
from ranger_cdap.engine import AccessRequest, Decision, PolicyEngine, TraceEntry
from ranger_cdap.engine.view import DENY_ALL_ELSE, NO_ZONES_KNOWN, UNREADABLE_ZONE, UNZONED

_SUPER_USER: Final = "superuser"
_SILENT: Final = "says nothing"
_NOT_NEEDED: Final = "not needed"
_SHOWN: Final = ("allows", "denies", _SILENT)
_UNHELD_CONDITION: Final = "a condition or its validity does not hold"


@dataclass(frozen=True, slots=True)
class Explanation:
    """An evaluated privilege; `why` it is held or not, and the `change` that would reverse that.

    `items` are those that name the user in the deciding policy and in policies with the same effect; `others` are the
    outcomes of the other policies on the entity, where they matter.
    """

    examined: EvaluatedPrivilege
    why: str
    change: str
    items: tuple[ItemFound, ...] = ()
    others: tuple[TraceEntry, ...] = ()

    def __str__(self) -> str:
        e = self.examined
        has = "has" if e.held else "lacks"
        return f"{e.person} {has} {e.action if e.held else ' or '.join(e.actions)} on {e.entity}"


class Explainer:
    """Finder of the reasons for one answer."""

    def __init__(self, authorizer: Authorizer, answer: Answer, groups: Collection[str]) -> None:
        snapshot = authorizer.snapshot
        self.index = PolicyIndex.of(snapshot.documents)
        self.problems = snapshot.engine.problems if snapshot.engine is not None else ()
        self._groups_of = GroupResolver.of(snapshot, authorizer.decider.group_hook, {answer.person: groups})
        self._context: DecisionContext | None = None
        if snapshot.engine is not None:
            engine = cast(PolicyEngine, _Traced(snapshot.engine))
            self._context = DecisionContext(
                engine, self._groups_of, authorizer.decider.config.instance, time.time_ns() // 1_000_000
            )

    def of(self, examined: EvaluatedPrivilege) -> Explanation:
        """Return the explanation of one privilege."""
        decision = examined.decision
        if decision.reason == _SUPER_USER:
            change = f"remove {self._name(examined)} and their groups from the super users of the service"
            return Explanation(examined, "super users may do everything", change)
        if decision.policy_id < 0:
            return self._no_policy_allows(examined)
        tag = self.index.tagged(decision.policy_id)
        named = self.index.named(decision.policy_id, decision.policy_version) + tag.place
        if examined.held:
            items = self._items_of_all(examined, ALLOW)
            return Explanation(examined, f"{named} allows it", self._removal(examined, named, items), items)
        if decision.reason == DENY_ALL_ELSE:
            change = f"add {_privilege(examined)} for {self._name(examined)} to {named}"
            return Explanation(examined, f"{named}{denial_by(examined)}", change)
        if decision.reason:
            change = f"repair {named}; `ranger-cdap policies lint` shows what is wrong with it"
            return Explanation(examined, f"{named}{denial_by(examined)}", change)
        items = self._items_of_all(examined, DENY)
        change = f"{self._removal(examined, named, items)}, or add a deny exception for {self._name(examined)} there"
        change += f", or take {tag.tags} off {examined.entity}" if tag.tags else ""
        return Explanation(examined, f"{named}{denial_by(examined)}", f"{change}; then a policy must allow it", items)

    def _no_policy_allows(self, examined: EvaluatedPrivilege) -> Explanation:
        others = self._others(examined)
        excepting = {
            entry.policy_id: items
            for entry in others
            if entry.outcome == _SILENT and self._items(examined, entry.policy_id, ALLOW)
            if (items := self._items(examined, entry.policy_id, ALLOW_EXCEPTIONS))
        }
        zone = _zone(examined.decision)
        if examined.decision.reason == NO_ZONES_KNOWN:
            return Explanation(examined, NO_ZONES_KNOWN, "name the zones, as in `FILE,zones.json` or `FILE,ranger:`")
        give = f"add {_privilege(examined)} for {self._name(examined)} to a policy{zone} on {examined.entity}"
        if not excepting:
            unheld = [
                item
                for entry in others
                for item in self._items(examined, entry.policy_id, ALLOW)
                if item.item.conditions or entry.reason == _UNHELD_CONDITION
            ]
            now = " now: a condition does not hold" if unheld else ""
            why = f"no policy{zone} allows it{now}{_where(examined)}"
            return Explanation(examined, examined.decision.reason or why, give, tuple(unheld), others)
        names = ", ".join(map(self.index.named, excepting))
        items = tuple(item for found in excepting.values() for item in found)
        change = f"remove {self._name(examined)} from the exceptions there"
        return Explanation(examined, f"{names} would allow it, but has an exception", change, items, others)

    def _items(self, examined: EvaluatedPrivilege, policy_id: int, side: str) -> tuple[ItemFound, ...]:
        wanted = (examined.action,) if examined.action in ACTIONS else ACTIONS
        member = self._groups_of.membership(examined.person)
        return tuple(
            self.index.items(policy_id, side, member.user, member.groups, [action.lower() for action in wanted])
        )

    def _name(self, examined: EvaluatedPrivilege) -> str:
        """Return the user's name in Ranger."""
        return self._groups_of.membership(examined.person).user

    def _items_of_all(self, examined: EvaluatedPrivilege, side: str) -> tuple[ItemFound, ...]:
        """Return the deciding items, and those of policies with the same effect, needed or not."""
        outcomes = (_NOT_NEEDED, "allows" if side == ALLOW else "denies")
        alike = [entry.policy_id for entry in self._trace(examined) if entry.outcome in outcomes]
        ids = dict.fromkeys((examined.decision.policy_id, *alike))
        return tuple(item for policy_id in ids for item in self._items(examined, policy_id, side))

    def _removal(self, examined: EvaluatedPrivilege, named: str, items: Sequence[ItemFound]) -> str:
        """`revoke READ from alice in policy 2 "kv": allow item 1 (…), and in policy 3: allow item 2 (…)`."""
        what = "every privilege" if examined.action in (ANY, VISIBLE) else examined.action
        places = []
        for policy_id, found in groupby(items, key=lambda item: item.policy_id):
            where = named if policy_id == examined.decision.policy_id else self.index.named(policy_id)
            places.append(f"{where}: {', '.join(map(str, found))}")
        return f"revoke {what} from {self._name(examined)} in {', and in '.join(places or [named])}"

    def _others(self, examined: EvaluatedPrivilege) -> tuple[TraceEntry, ...]:
        """Return the outcomes of the policies on the entity."""
        return tuple(e for e in self._trace(examined) if e.outcome in _SHOWN or e.reason == _UNHELD_CONDITION)

    def _trace(self, examined: EvaluatedPrivilege) -> tuple[TraceEntry, ...]:
        """Evaluate the same again, with a trace per policy."""
        if self._context is None:
            return ()
        entity = examined.entity if isinstance(examined.entity, EntityId) else examined.decided_on
        return self._context.ask(examined.person, entity, examined.action).trace if entity is not None else ()


@dataclass(frozen=True, slots=True)
class _Traced:
    """Engine whose every decision has a trace."""

    engine: PolicyEngine

    def evaluate(self, request: AccessRequest) -> Decision:
        return self.engine.explain(request)


def changes(answer: Answer, reasons: Sequence[Explanation]) -> tuple[str, tuple[str, ...]]:
    """Return the changes that would reverse the answer, with the heading of their list."""
    if not answer.allowed:
        lacked = tuple(dict.fromkeys(explanation.change for explanation in reasons if not explanation.examined.held))
        return ("to have it allowed, do all of this" if len(lacked) > 1 else "to have it allowed"), lacked
    held = tuple(dict.fromkeys(explanation.change for explanation in reasons))
    return ("to have it denied, do one of these" if len(held) > 1 else "to have it denied"), held


def _privilege(examined: EvaluatedPrivilege) -> str:
    return "any privilege" if examined.actions in ((ANY,), (VISIBLE,)) else " or ".join(examined.actions)


def _where(examined: EvaluatedPrivilege) -> str:
    """Return ` on dataset:ns1.localx` for a pattern, with the first entity of it that is denied."""
    return f" on {examined.decided_on}" if examined.decided_on is not None else ""


def _zone(decision: Decision) -> str:
    return f" of security zone `{decision.zone}`" if decision.zone not in (None, UNZONED, UNREADABLE_ZONE) else ""
