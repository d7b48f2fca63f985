"""Privileges that CDAP's checks need on the path of an operation in addition to those of the profile. Pure.

Law: a user who holds what `plan` returns for an alternative, whichever of its actions, and what is returned here for it
passes every recorded check of the path; without any one privilege that is returned here they do not (with the option
`inherit`: not whichever of the actions they hold).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import filterfalse

import msgspec

from ranger_cdap.cdap.checks.checks import CdapCheck, CheckTable
from ranger_cdap.cdap.checks.recorded_paths import RecordedCheck, RecordedPath, recorded_paths, unrecorded_checks
from ranger_cdap.cdap.context import ROLES, Context
from ranger_cdap.cdap.entity import PROGRAM_TYPES, EntityId, entity_type, parse_entity
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.pattern import STAR, EntityPattern, entity_pattern
from ranger_cdap.cdap.plan import RequiredPrivilege, plan, related_entities
from ranger_cdap.cdap.profile import ACTIONS, ANY, VISIBLE, Operation, Profile
from ranger_cdap.cdap.requirements import requirements_of

_INHERITED = frozenset({"READ", "WRITE", "ADMIN"})

# Cost of an action: less is weaker. Any privilege on an entity is given as READ.
_COST: Mapping[str, int] = {"READ": 1, ANY: 1, VISIBLE: 1, "EXECUTE": 2, "WRITE": 3, "ADMIN": 4}
# Who may change these may change or create everything in them.
_BREADTH: Mapping[str, int] = {"instance": 1_000, "namespace": 100}

Held = Sequence[RequiredPrivilege]

Holds = Callable[[Operation, RequiredPrivilege], bool]
"""Return true if a privilege that the operation of a check needs is held."""


class AskedCheck(msgspec.Struct, frozen=True):
    """Recorded check, on an entity of this operation, with the names of the recorded operations that made it."""

    check: RecordedCheck
    entity: EntityId | EntityPattern
    recorded: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.entity} {self.check}" if self.check.visible else f"{self.check} on {self.entity}"


class AdditionalPrivilege(msgspec.Struct, frozen=True):
    """Additional privilege of a user, one of `actions`, with the checks that fail without it and its requirements."""

    capacity: str
    person: str
    actions: tuple[str, ...]
    entity: EntityId | EntityPattern
    asked: tuple[AskedCheck, ...]
    requirements: tuple[str, ...]

    @property
    def recorded(self) -> tuple[str, ...]:
        """Return the names of the recorded operations that need it."""
        return tuple(dict.fromkeys(name for one in self.asked for name in one.recorded))


@dataclass(frozen=True, slots=True)
class AdditionalPrivileges:
    """Additional privileges for each alternative of `plan`, in its order, by these recordings; none: not recorded.

    `depends_on`: roles of which one must be named, because CDAP's path differs by them; `unnamed`: roles that the
    context leaves empty and whose entities CDAP checks, too, if they take part; `unknown`: roles that the context names
    and no known check is about.
    """

    alternatives: tuple[tuple[AdditionalPrivilege, ...], ...]
    recorded: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Hurdle:
    """Check that is passed if all privileges of one alternative are held; each of a row."""

    asked: AskedCheck
    row: Operation
    alternatives: tuple[tuple[RequiredPrivilege, ...], ...]
    inherits: bool
    holds: Holds | None

    def is_passed(self, held: Held) -> bool:
        return any(alternative and not self.lacking(alternative, held) for alternative in self.alternatives)

    def takes(self, held: RequiredPrivilege) -> bool:
        """Return true if the privilege serves for one of the hurdle's."""
        return any(suffices(held, need, inherits=self.inherits) for each in self.alternatives for need in each)

    def lacking(self, alternative: Held, held: Held) -> list[RequiredPrivilege]:
        missing = filterfalse(partial(self.holds, self.row), alternative) if self.holds else alternative
        return [need for need in missing if not any(suffices(one, need, inherits=self.inherits) for one in held)]


def additional_privileges(
    profile: Profile,
    operation: Operation,
    entity: EntityId,
    person: str,
    context: Context = Context(),  # noqa: B008 a frozen value
    options: Options = Options(),  # noqa: B008 a frozen value
    *,
    paths: Sequence[RecordedPath] | None = None,
    holds: Holds | None = None,
) -> AdditionalPrivileges:
    """Return what CDAP's checks need beside each alternative of `plan`, by the recorded paths (default: all that fit).

    With `holds`, it alone says what is held: the privileges of the alternatives are not assumed.

    Raises:
        InvalidInput: as `plan`.
    """
    alternatives = plan(operation, entity, person, context, options)
    related = {role: entities for role, entities in related_entities(operation, entity, context).items() if entities}
    known = recorded_paths(operation.name) if paths is None else paths
    fitting = [path for path in known if path.fits(related, impersonated=context.effective is not None)]
    if not fitting:
        missing = () if any(set(path.given) <= set(related) for path in known) else tuple(p.given for p in known)
        depends = tuple(dict.fromkeys(role for roles in missing for role in roles))
        return AdditionalPrivileges(tuple(() for _ in alternatives), depends_on=depends)
    recorded = tuple(path.recorded for path in fitting)
    fitting += unrecorded_checks(operation.name)
    asked = _asked(fitting, entity, related)
    table = CheckTable(profile)
    hurdles = [hurdle for one in asked for hurdle in _hurdles(one, table, person, context, options, holds)]
    about = [check.on for path in fitting for check in path.checks if check.on in ROLES]
    return AdditionalPrivileges(
        tuple(_additional(() if holds else alternative, hurdles) for alternative in alternatives),
        recorded,
        unnamed=tuple(dict.fromkeys(role for role in about if role not in related)),
        unknown=_unknown(operation, context, about, fitting),
    )


def _unknown(
    operation: Operation, context: Context, about: Sequence[str], paths: Sequence[RecordedPath]
) -> tuple[str, ...]:
    """Return the roles that the context names, and neither the paths nor the operation's row has a use for."""
    used = {*about, *(role for path in paths for role in path.given)}
    used |= {privilege.target for each in operation.alternatives for privilege in each}
    if used & {"modules", "types"}:
        used |= {"modules", "types"}  # both are of one class
    if any(path.impersonated for path in paths):
        used.add("principal")
    return tuple(role for role, entities in context.related.items() if entities and role not in used)


def weakest(actions: Sequence[str]) -> str:
    """Return the weakest of alternative actions, READ for any."""
    found = min(actions, key=lambda action: _COST[action])
    return found if found in ACTIONS else "READ"


def cheapest(alternatives: Iterable[Iterable[RequiredPrivilege | AdditionalPrivilege]]) -> int:
    """Return the number of the alternative that gives least: on the narrowest entities, then the weakest actions."""
    given = [dict.fromkeys((one.person, weakest(one.actions), one.entity) for one in each) for each in alternatives]
    costs = [sum(_cost_on(action, entity) for _, action, entity in each) for each in given]
    return costs.index(min(costs))


def suffices(
    held: RequiredPrivilege | AdditionalPrivilege, need: RequiredPrivilege | AdditionalPrivilege, *, inherits: bool
) -> bool:
    """Return true if every action of the privilege that is held serves for the one that is needed."""
    if held.person != need.person:
        return False
    if need.actions == (VISIBLE,):
        return _is_within(held.entity, need.entity)
    given = set(ACTIONS) if held.actions == (ANY,) else set(held.actions)
    if _matches(held.entity, need.entity):
        return need.actions == (ANY,) or given <= set(need.actions)
    return inherits and given <= set(need.actions) & _INHERITED and _is_within(need.entity, held.entity)


def _asked(
    paths: Iterable[RecordedPath], entity: EntityId, related: Mapping[str, Sequence[EntityId | EntityPattern]]
) -> list[AskedCheck]:
    """Return the checks of the paths on the entities of this operation; those in a role left empty are left out."""
    found: dict[tuple[RecordedCheck, EntityId | EntityPattern], dict[str, None]] = {}
    for path in paths:
        for check in path.checks:
            for target in _targets(check.on, entity, related):
                found.setdefault((check, target), {})[path.recorded] = None
    return [AskedCheck(check, target, tuple(recorded)) for (check, target), recorded in found.items()]


def _targets(
    on: str, entity: EntityId, related: Mapping[str, Sequence[EntityId | EntityPattern]]
) -> Sequence[EntityId | EntityPattern]:
    if on in ROLES:
        return related.get(on, ())
    if ":" in on:
        return (parse_entity(on),)
    target = entity if on == "entity" else entity.ancestor(on)
    return (target,) if target is not None else ()


def _hurdles(
    asked: AskedCheck, table: CheckTable, person: str, context: Context, options: Options, holds: Holds | None
) -> Iterator[_Hurdle]:
    """Yield a hurdle for each operation that the check maps to."""
    example, check = _example(asked.entity), asked.check
    kind = entity_type(example.type)
    if check.visible:
        rows = [(table.list_row(kind.name), example)]
    else:
        parts = example.parts or ("",)
        one = CdapCheck(kind.cdap_names[0], parts, check.permissions, check.child, check.hint or None)
        rows = [(found.operation, found.entity) for found in table.resolve(one).operations]
    capacity, name = _who(check.by, person, context)
    for row, entity in rows:
        needs = plan(row, entity, name, options=options)
        alternatives = tuple(
            tuple(msgspec.structs.replace(n, capacity=capacity, entity=_widened(n.entity, asked.entity)) for n in each)
            for each in needs
        )
        yield _Hurdle(asked, options.applied_to(row), alternatives, options.inherit and not row.lists, holds)


def _who(by: str, person: str, context: Context) -> tuple[str, str]:
    if by != "requesting" and context.effective is not None:
        return "impersonated", context.effective
    return ("master", context.master) if by == "executing" else ("requesting", person)


def _example(entity: EntityId | EntityPattern) -> EntityId:
    """Return an entity in the shape of a pattern: rows do not depend on names."""
    if isinstance(entity, EntityId):
        return entity
    parts = tuple(part.replace(STAR, "x") for part in entity.parts)
    if entity.type == "program" and parts[-1].partition(".")[0] not in PROGRAM_TYPES:
        parts = (*parts[:-1], f"{min(PROGRAM_TYPES)}.x")
    return EntityId(entity.type, parts)


def _widened(entity: EntityId | EntityPattern, asked: EntityId | EntityPattern) -> EntityId | EntityPattern:
    """Return the entity or ancestor of the pattern in place of that of its example."""
    return entity_pattern(entity.type, asked.parts[: len(entity.parts)])


def _additional(held: Held, hurdles: Sequence[_Hurdle]) -> tuple[AdditionalPrivilege, ...]:
    hurdles = [hurdle for hurdle in hurdles if not hurdle.is_passed(held)]
    chosen: list[RequiredPrivilege] = []
    rows: dict[RequiredPrivilege, Operation] = {}
    for hurdle in sorted(hurdles, key=lambda one: len(one.alternatives)):
        if hurdle.is_passed([*held, *chosen]):
            continue
        lacking = [hurdle.lacking(each, [*held, *chosen]) for each in hurdle.alternatives if each]
        for need in min(lacking, key=_cost):
            chosen = _with(chosen, need)
            rows |= dict.fromkeys((need, chosen[-1]), hurdle.row)
    for need in sorted(chosen, key=lambda one: -_cost([one])):
        rest = [one for one in chosen if one is not need]
        if not _failing(need, [*held, *rest], hurdles):
            chosen = rest
    return tuple(_explained(need, rows[need], [*held, *(n for n in chosen if n != need)], hurdles) for need in chosen)


def _failing(need: RequiredPrivilege, without: Held, hurdles: Sequence[_Hurdle]) -> list[_Hurdle]:
    """Return the hurdles that are passed by this privilege only."""
    return [hurdle for hurdle in hurdles if hurdle.takes(need) and not hurdle.is_passed(without)]


def _with(chosen: Sequence[RequiredPrivilege], need: RequiredPrivilege) -> list[RequiredPrivilege]:
    """Return the privileges with one more, in one with another of the same user and entity if an action serves both."""
    for place, one in enumerate(chosen):
        both = tuple(action for action in need.actions if action in one.actions)
        if both and (one.person, one.entity) == (need.person, need.entity):
            return [*chosen[:place], *chosen[place + 1 :], msgspec.structs.replace(need, actions=both)]
    return [*chosen, need]


def _cost(needs: Iterable[RequiredPrivilege]) -> int:
    return sum(_COST[weakest(need.actions)] for need in needs)


def _cost_on(action: str, entity: EntityId | EntityPattern) -> int:
    return _COST[action] * (1 if action == "READ" else _BREADTH.get(entity.type, 1))


def _explained(
    need: RequiredPrivilege, row: Operation, without: Held, hurdles: Sequence[_Hurdle]
) -> AdditionalPrivilege:
    failing = dict.fromkeys(hurdle.asked for hurdle in _failing(need, without, hurdles))
    requirements = requirements_of(row, need.source, need.capacity) if row.requirements else ()
    return AdditionalPrivilege(need.capacity, need.person, need.actions, need.entity, tuple(failing), requirements)


def _is_within(one: EntityId | EntityPattern, other: EntityId | EntityPattern) -> bool:
    return other.type in entity_type(one.type).path and one.parts[: len(other.parts)] == other.parts


def _matches(held: EntityId | EntityPattern, need: EntityId | EntityPattern) -> bool:
    """Return true if every entity that the one needed stands for is among those of the one held."""
    return held.type == need.type and all(map(_covers, held.parts, need.parts))


def _covers(part: str, name: str) -> bool:
    if STAR not in part:
        return part == name
    return re.fullmatch(".*".join(map(re.escape, part.split(STAR))), name, re.DOTALL) is not None
