"""A planned operation as tables and as JSON: the profile's privileges, and what CDAP asks in addition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ranger_cdap.cdap.additional_privileges import AdditionalPrivilege, AdditionalPrivileges, cheapest, weakest
from ranger_cdap.cdap.checks.recorded_paths import recorded_paths
from ranger_cdap.cdap.context import CAPACITIES, Context
from ranger_cdap.cdap.plan import RequiredPrivilege, unnamed
from ranger_cdap.cdap.profile import ANY, VISIBLE, Operation
from ranger_cdap.cdap.requirements import requirements_of, with_sentence
from ranger_cdap.cli.check_text import unknown_checks
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.tools.policies.needed_policies import Right

_ANY_WORDS: Mapping[tuple[str, ...], str] = {(ANY,): "any privilege", (VISIBLE,): "any privilege on it or in it"}


@dataclass(frozen=True, slots=True)
class PlannedOperation:
    """Operation with the alternatives of `plan`, and what CDAP asks beside each; `more` is None if not asked for."""

    row: Operation
    context: Context
    needs: Sequence[Sequence[RequiredPrivilege]]
    more: AdditionalPrivileges | None

    @property
    def undecided(self) -> str:
        """Return why there is no alternative, as a sentence."""
        roles = " or ".join(" and ".join(roles) for roles in unnamed(self.row, self.context))
        return f"cannot be decided without {roles}: name it by --with ROLE=ENTITY"

    @property
    def cheapest(self) -> int:
        """Return the number of the alternative that gives least, counted from 0."""
        return cheapest((*needs, *self._also(number)) for number, needs in enumerate(self.needs))

    @property
    def notes(self) -> Iterator[str]:
        """Yield what is not known of CDAP's checks."""
        if self.more is None:
            return
        if not (self.more.recorded or self.more.depends_on):
            how = " with this context" if recorded_paths(self.row.name) else ""
            yield f"not recorded{how}: only the profile's privileges are known"
        yield from unknown_checks(self.more)

    def rights(self, number: int) -> list[Right]:
        """Return the rights of an alternative: of several actions that serve, the weakest."""
        several: list[RequiredPrivilege | AdditionalPrivilege] = [*self.needs[number], *self._also(number)]
        return list(dict.fromkeys((one.person, weakest(one.actions).lower(), one.entity) for one in several))

    def show(self, invocation: Invocation) -> None:
        """Print the operation."""
        if invocation.as_json:
            invocation.print_json(self.as_json())
        else:
            self._print(invocation)

    def as_json(self) -> object:
        """Return the alternatives; with what CDAP asks, in a document that has the recordings as well."""
        needs = [[_document(self.row, need) for need in alternative] for alternative in self.needs]
        if self.more is None:
            return needs
        also = [[_additional(one) for one in alternative] for alternative in self.more.alternatives]
        return {
            "alternatives": [{"needs": one, "cdap_asks": two} for one, two in zip(needs, also, strict=True)],
            "recorded": self.more.recorded,
            "depends_on": self.more.depends_on,
            "not_named": self.more.unnamed,
            "not_recorded_with": self.more.unknown,
        }

    def _also(self, number: int) -> Sequence[AdditionalPrivilege]:
        return () if self.more is None else self.more.alternatives[number]

    def _print(self, invocation: Invocation) -> None:
        say = invocation.console.print
        if not self.needs:
            say(self.undecided)
        by_need: dict[str, tuple[str, ...]] = {}
        for number, needs in enumerate(self.needs):
            say(f"alternative {number + 1}:" if len(self.needs) > 1 else "required privileges:")
            rows = [[n.person, CAPACITIES[n.capacity], actions_text(n.actions), str(n.entity)] for n in needs]
            invocation.print_table(["who", "as", "privilege", "on"], rows)
            by_need |= {_text(need): requirements_of(self.row, need.source, need.capacity) for need in needs}
            also = self._also(number)
            if also:
                say("CDAP also asks for:")
                invocation.print_table(["who", "as", "privilege", "on", "because it checks", "in"], _rows(also))
                for one in also:
                    by_need.setdefault(_text(one), one.requirements)
            elif self.more is not None and self.more.recorded:
                is_all = not (self.more.unnamed or self.more.unknown)
                say("CDAP asks for nothing else" if is_all else "CDAP asks for nothing else of what is named")
        for note in self.notes:
            say(note)
        by_need = {need: requirements for need, requirements in by_need.items() if requirements}
        if by_need:
            say("required by:")
        for need_text, requirements in by_need.items():
            say(f"  {need_text}")
            for requirement in requirements:
                say(f"    {with_sentence(requirement)}")


def actions_text(actions: tuple[str, ...]) -> str:
    """Return alternative actions as text: `READ or WRITE`."""
    return _ANY_WORDS.get(actions, " or ".join(actions))


def _rows(also: Sequence[AdditionalPrivilege]) -> list[list[str]]:
    return [
        [
            one.person,
            CAPACITIES[one.capacity],
            actions_text(one.actions),
            str(one.entity),
            "; ".join(dict.fromkeys(map(str, one.asked))),
            ", ".join(one.recorded),
        ]
        for one in also
    ]


def _text(need: RequiredPrivilege | AdditionalPrivilege) -> str:
    return f"{actions_text(need.actions)} on {need.entity}, by {need.person}"


def _document(row: Operation, need: RequiredPrivilege) -> dict[str, object]:
    return {
        "user": need.person,
        "capacity": need.capacity,
        "actions": need.actions,
        "entity": str(need.entity),
        "requirements": requirements_of(row, need.source, need.capacity),
    }


def _additional(one: AdditionalPrivilege) -> dict[str, object]:
    return {
        "user": one.person,
        "capacity": one.capacity,
        "actions": one.actions,
        "entity": str(one.entity),
        "requirements": one.requirements,
        "checks": [
            {
                "check": str(asked.check),
                "entity": str(asked.entity),
                "permissions": asked.check.permissions,
                "hint": asked.check.hint,
                "recorded": asked.recorded,
            }
            for asked in one.asked
        ],
    }
