"""Privileges of a job in a namespace: those of its operations by the profile, and what CDAP asks in addition. Pure.

Law: a user with these privileges passes every check that CDAP was recorded to make of the user in these operations, and
not without any one of the additional ones. The data that programs use is not the job's. A list has what its reader has
a privilege on: that a job lists entities is no reason for a privilege on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from ranger_cdap.cdap.additional_privileges import (
    AdditionalPrivilege,
    AskedCheck,
    additional_privileges,
    cheapest,
    suffices,
)
from ranger_cdap.cdap.checks.recorded_paths import RecordedCheck, recorded_paths
from ranger_cdap.cdap.context import ROLES, Context
from ranger_cdap.cdap.entity import EntityId, entity_type
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.pattern import STAR, EntityPattern, entity_pattern
from ranger_cdap.cdap.plan import RequiredPrivilege, plan
from ranger_cdap.cdap.presets import CONNECTION, SYSTEM_NAMESPACE, Preset
from ranger_cdap.cdap.profile import ANY, VISIBLE, Operation, Profile
from ranger_cdap.cdap.requirements import requirements_of

# Roles of entities that a user of the job names; the others are of running programs, and of impersonation.
_NAMED = ("datasets", "modules", "types", "programs", "applications", "artifacts", "keys")

# A name that stands for every name, allowed for entities of every type.
_EXAMPLE = "x"
_EXAMPLES = {"program": "workflow.x"}
_USER = "the user"
_REQUESTING = "requesting"

Entity = EntityId | EntityPattern


@dataclass(frozen=True, slots=True)
class JobOperation:
    """Operation of a job in a namespace, on everything of its entity type there, or on the one of that name."""

    operation: str
    namespace: str
    name: str = ""


def operations_in(preset: Preset, namespace: str) -> Iterator[JobOperation]:
    """Yield the operations of a preset that are rows of the profile, those on `system` included."""
    for is_system, names in ((False, preset.operations), (True, preset.system_operations)):
        for name in names:
            kind = name.partition(".")[0]
            if kind != CONNECTION:
                on = {right.name for right in preset.rights if (right.is_system, right.type) == (is_system, kind)}
                where = SYSTEM_NAMESPACE if is_system else namespace
                yield JobOperation(name, where, on.pop() if len(on) == 1 else "")


@dataclass(frozen=True, slots=True)
class JobNeed:
    """Privilege that operations of a job need, one of `actions` on the entities, with the requirements of all of them.

    `asked`: CDAP's checks that fail without it, if it is one that CDAP asks for in addition.
    """

    actions: tuple[str, ...]
    entity: Entity
    operations: tuple[str, ...]
    requirements: tuple[str, ...] = ()
    asked: tuple[AskedCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class JobPrivileges:
    """Privileges of a job by the profile, what CDAP asks in addition, and the operations that were not recorded.

    `empty_lists`: operations that list entities of which the job sees none, as nothing else of it needs a privilege on
    them.
    """

    needs: tuple[JobNeed, ...]
    more: tuple[JobNeed, ...]
    not_recorded: tuple[str, ...]
    empty_lists: tuple[str, ...] = ()


def job_privileges(
    profile: Profile,
    operations: Iterable[JobOperation],
    options: Options = Options(),  # noqa: B008 a frozen value
) -> JobPrivileges:
    """Return the privileges of a user who performs these operations.

    Raises:
        UnknownOperation: the profile has no such operation.
        InvalidInput: CDAP allows no such namespace.
    """
    all_ways = [way for one in operations for way in _ways(profile, one, options)]
    doing = [need for way in all_ways if not way.row.lists for need in way.needs]
    ways = [way.seeing_only(doing) for way in all_ways]
    held = [need for way in ways for need in way.needs]
    needs, more = dict[_Key, _Reasons](), dict[_Key, _Reasons]()
    for way in ways:
        for need in way.needs:
            narrowest = _narrowest(need, held)
            reasons = needs.setdefault((narrowest.actions, narrowest.entity), _Reasons())
            reasons.add(way.operation, requirements_of(way.row, need.source, need.capacity))
        for one in way.asked(profile, options, held):
            more.setdefault((one.actions, one.entity), _Reasons()).add(way.operation, one.requirements, one.asked)
    return JobPrivileges(
        tuple(reasons.need(*key) for key, reasons in needs.items()),
        tuple(reasons.need(*key) for key, reasons in more.items()),
        tuple(dict.fromkeys(way.operation for way in ways if not recorded_paths(way.operation))),
        tuple(dict.fromkeys(way.operation for way in ways if way.is_empty_list)),
    )


_Key = tuple[tuple[str, ...], Entity]


@dataclass(slots=True)
class _Reasons:
    """Why a privilege is needed, in the order in which the reasons came."""

    operations: dict[str, None] = field(default_factory=dict)
    requirements: dict[str, None] = field(default_factory=dict)
    asked: dict[tuple[RecordedCheck, Entity], dict[str, None]] = field(default_factory=dict)

    def add(self, operation: str, requirements: Iterable[str], asked: Iterable[AskedCheck] = ()) -> None:
        self.operations[operation] = None
        self.requirements |= dict.fromkeys(requirements)
        for one in asked:
            self.asked.setdefault((one.check, one.entity), {}).update(dict.fromkeys(one.recorded))

    def need(self, actions: tuple[str, ...], entity: Entity) -> JobNeed:
        asked = tuple(AskedCheck(check, on, tuple(recorded)) for (check, on), recorded in self.asked.items())
        return JobNeed(actions, entity, tuple(self.operations), tuple(self.requirements), asked)


class _Way(msgspec.Struct, frozen=True):
    """Operation on an entity that stands for all of its type, and the needs of its alternative that gives least."""

    of: JobOperation
    row: Operation
    entity: EntityId
    context: Context
    number: int
    needs: tuple[RequiredPrivilege, ...] = ()
    is_empty_list: bool = False

    @property
    def operation(self) -> str:
        return self.of.operation

    def every(self, one: Entity) -> Entity:
        """Return all entities of the type in place of the example, unless the job names the one it is about."""
        if one.parts != self.entity.parts[: len(one.parts)] or len(one.parts) < 2:
            return one
        return one if self.of.name else _all_of(one.type, one.parts[0])

    def seeing_only(self, held: Sequence[RequiredPrivilege]) -> _Way:
        """Return the way of a list that has nothing but what is held anyway; any other as it is."""
        if not self.row.lists:
            return self
        seen = [
            need
            for need in self.needs
            if need.entity.type != self.entity.type
            or any(one.entity == need.entity and suffices(one, need, inherits=False) for one in held)
        ]
        return replace(self, needs=tuple(seen), is_empty_list=len(seen) < len(self.needs))

    def asked(
        self, profile: Profile, options: Options, held: Sequence[RequiredPrivilege]
    ) -> Iterator[AdditionalPrivilege]:
        """Yield what CDAP asks of the user beside all that is held."""

        own = plan(self.row, self.entity, _USER, self.context, options)[self.number]

        def holds(row: Operation, need: RequiredPrivilege) -> bool:
            return any(suffices(one, need, inherits=options.inherit and not row.lists) for one in (*own, *held))

        more = additional_privileges(profile, self.row, self.entity, _USER, self.context, options, holds=holds)
        for one in more.alternatives[self.number]:
            if one.capacity == _REQUESTING and not (
                self.is_empty_list and all(each.check.visible for each in one.asked)
            ):
                checks = tuple(replace(check, entity=self.every(check.entity)) for check in one.asked)
                yield replace(one, entity=self.every(one.entity), asked=checks)


def _ways(profile: Profile, one: JobOperation, options: Options) -> Iterator[_Way]:
    """Yield each way of CDAP for an operation: an application is deployed from an artifact or from a jar."""
    row = options.applied_to(profile.operation(one.operation))
    names = [one.name or _EXAMPLES.get(level, _EXAMPLE) for level in entity_type(row.entity).path[2:]]
    entity = EntityId(row.entity, (one.namespace, *names))
    for related in _related(one.operation, one.namespace):
        context = Context(related)
        needs = plan(row, entity, _USER, context, options)
        if needs:
            more = additional_privileges(profile, row, entity, _USER, context, options).alternatives
            number = cheapest((*own, *also) for own, also in zip(needs, more, strict=True))
            mine = [need for need in needs[number] if need.capacity == _REQUESTING]
            way = _Way(one, row, entity, context, number)
            yield replace(way, needs=tuple(replace(need, entity=way.every(need.entity)) for need in mine))


def _narrowest(need: RequiredPrivilege, held: Iterable[RequiredPrivilege]) -> RequiredPrivilege:
    """Return the privilege on the same entities, of all that are held, that has fewest actions and serves as well."""
    serving = (one for one in held if one.entity == need.entity and suffices(one, need, inherits=False))
    return min(serving, key=lambda one: (one.actions in ((ANY,), (VISIBLE,)), len(one.actions)), default=need)


def _related(name: str, namespace: str) -> Iterator[Mapping[str, tuple[Entity, ...]]]:
    """Yield the entities by role, all of the namespace."""
    given = {path.given for path in recorded_paths(name)} or {()}
    for roles in sorted(given):
        yield {role: (_all_of(ROLES[role], namespace),) for role in (*_NAMED, *roles)}


def _all_of(kind: str, namespace: str) -> Entity:
    return entity_pattern(kind, (namespace, *(STAR for _ in entity_type(kind).path[2:])))
