"""Why somebody has a privilege or lacks it, in words of policies; and what to change there for the other answer."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, cast

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decision_context import DecisionContext
from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.cdap.answer import Answer, EvaluatedPrivilege
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cdap.profile import ACTIONS, ANY, VISIBLE
from ranger_cdap.cli.policy_index import ALLOW, ALLOW_EXCEPTIONS, DENY, ItemFound, PolicyIndex
from ranger_cdap.engine import AccessRequest, Decision, PolicyEngine, TraceEntry
from ranger_cdap.engine.model.decision import DENY_ALL_ELSE
from ranger_cdap.plugins.manager import plugin_manager

_SUPER_USER: Final = "superuser"
_SILENT: Final = "says nothing"
_NOT_NEEDED: Final = "not needed"
_SHOWN: Final = ("allows", "denies", _SILENT)
_UNHELD_CONDITION: Final = "a condition or its validity does not hold"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A privilege that was looked at; `why` it is held or not, and the `change` that would turn it round.

    `items` are those that speak of the person in the deciding policy, and in those that say the same; `others` what the
    other policies on the entity say, where that matters.
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
    """Finds the reasons of one answer."""

    def __init__(self, authorizer: Authorizer, answer: Answer, groups: Collection[str]) -> None:
        snapshot = authorizer.snapshot
        self.book = PolicyIndex.of(snapshot.documents)
        hook = plugin_manager().hook.ranger_cdap_groups
        self._people = GroupResolver(
            {answer.person: groups}, snapshot.groups_of, hook if hook.get_hookimpls() else None
        )
        self._moment: DecisionContext | None = None
        if snapshot.engine is not None:
            engine = cast(PolicyEngine, _Traced(snapshot.engine))
            self._moment = DecisionContext(
                engine, self._people, authorizer.decider.rules.instance, time.time_ns() // 1_000_000
            )

    def of(self, examined: EvaluatedPrivilege) -> Explanation:
        """The reason of one privilege."""
        decision = examined.decision
        if decision.reason == _SUPER_USER:
            change = f"take {examined.person} and their groups out of the super users of the service"
            return Explanation(examined, "super users may do everything", change)
        if decision.policy_id < 0:
            return self._nobody_says(examined)
        named = self.book.named(decision.policy_id, decision.policy_version) + _zone(decision)
        if examined.held:
            items = self._items_of_all(examined, ALLOW)
            return Explanation(examined, f"{named} allows it", self._taking(examined, named, items), items)
        if decision.reason == DENY_ALL_ELSE:
            change = f"add {_privilege(examined)} for {examined.person} to {named}"
            return Explanation(examined, f"{named} denies all that it does not allow", change)
        if decision.reason:
            change = f"repair {named}; `ranger-cdap policies lint` shows what is wrong with it"
            return Explanation(examined, f"{named} cannot be used, so it denies everybody: {decision.reason}", change)
        items = self._items_of_all(examined, DENY)
        change = f"{self._taking(examined, named, items)}, or add a deny exception for {examined.person} there"
        gives = "; if no policy allows it then, one has to"
        return Explanation(examined, f"{named} denies it", change + gives, items)

    def _nobody_says(self, examined: EvaluatedPrivilege) -> Explanation:
        others = self._others(examined)
        excepting = {
            entry.policy_id: items
            for entry in others
            if entry.outcome == _SILENT and self._items(examined, entry.policy_id, ALLOW)
            if (items := self._items(examined, entry.policy_id, ALLOW_EXCEPTIONS))
        }
        give = f"add {_privilege(examined)} for {examined.person} to a policy on {examined.entity}"
        if not excepting:
            unheld = [
                item
                for entry in others
                for item in self._items(examined, entry.policy_id, ALLOW)
                if item.item.conditions or entry.reason == _UNHELD_CONDITION
            ]
            why = "no policy gives it here and now: a condition does not hold" if unheld else "no policy gives it"
            return Explanation(examined, why + _zone(examined.decision), give, tuple(unheld), others)
        names = ", ".join(map(self.book.named, excepting))
        items = tuple(item for found in excepting.values() for item in found)
        change = f"take {examined.person} out of the exceptions there"
        return Explanation(examined, f"{names} would give it, but makes an exception", change, items, others)

    def _items(self, examined: EvaluatedPrivilege, policy_id: int, side: str) -> tuple[ItemFound, ...]:
        wanted = (examined.action,) if examined.action in ACTIONS else ACTIONS
        groups = self._people.membership(examined.person).groups
        accesses = [action.lower() for action in wanted]
        return tuple(self.book.items(policy_id, side, examined.person, groups, accesses))

    def _items_of_all(self, examined: EvaluatedPrivilege, side: str) -> tuple[ItemFound, ...]:
        """The items that decide, and those of policies that say the same, needed or not."""
        outcomes = (_NOT_NEEDED, "allows" if side == ALLOW else "denies")
        alike = [entry.policy_id for entry in self._trace(examined) if entry.outcome in outcomes]
        ids = dict.fromkeys((examined.decision.policy_id, *alike))
        return tuple(item for policy_id in ids for item in self._items(examined, policy_id, side))

    def _taking(self, examined: EvaluatedPrivilege, named: str, items: Sequence[ItemFound]) -> str:
        """`take READ away from alice in policy 2 "kv": allow item 1 (…), and in policy 3: allow item 2 (…)`."""
        what = "every privilege" if examined.action in (ANY, VISIBLE) else examined.action
        places = []
        for policy_id, found in groupby(items, key=lambda item: item.policy_id):
            where = named if policy_id == examined.decision.policy_id else self.book.named(policy_id)
            places.append(f"{where}: {', '.join(map(str, found))}")
        return f"take {what} away from {examined.person} in {', and in '.join(places or [named])}"

    def _others(self, examined: EvaluatedPrivilege) -> tuple[TraceEntry, ...]:
        """What the policies on the entity say."""
        return tuple(e for e in self._trace(examined) if e.outcome in _SHOWN or e.reason == _UNHELD_CONDITION)

    def _trace(self, examined: EvaluatedPrivilege) -> tuple[TraceEntry, ...]:
        """The same evaluated again, policy by policy."""
        if self._moment is None:
            return ()
        entity = examined.entity.probes()[0] if isinstance(examined.entity, EntityPattern) else examined.entity
        return self._moment.ask(examined.person, entity, examined.action).trace


class _Traced:
    """An engine whose every decision has a trace."""

    def __init__(self, engine: PolicyEngine) -> None:
        self._engine = engine

    def evaluate(self, request: AccessRequest) -> Decision:
        return self._engine.explain(request)


def changes(answer: Answer, reasons: Sequence[Explanation]) -> tuple[str, tuple[str, ...]]:
    """The heading of the list of changes for the other answer, and the changes."""
    if not answer.allowed:
        lacked = tuple(dict.fromkeys(because.change for because in reasons if not because.examined.held))
        return ("to have it allowed, do all of this" if len(lacked) > 1 else "to have it allowed"), lacked
    held = tuple(dict.fromkeys(because.change for because in reasons))
    return ("to have it denied, one of these suffices" if len(held) > 1 else "to have it denied"), held


def _privilege(examined: EvaluatedPrivilege) -> str:
    return "any privilege" if examined.actions in ((ANY,), (VISIBLE,)) else " or ".join(examined.actions)


def _zone(decision: Decision) -> str:
    return f" in security zone `{decision.zone}`" if decision.zone else ""
