"""Privileges of a job in a namespace: those of its operations by the profile, and what CDAP asks in addition. Pure.

Law: a user with these privileges passes every check that CDAP was recorded to make of the user in these operations, and
not without any one of the additional ones. The data that programs use is not the job's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from ranger_cdap.cdap.additional_privileges import (
    AdditionalPrivilege,
    AskedCheck,
    additional_privileges,
    cheapest,
    suffices,
)
from ranger_cdap.cdap.checks.recorded_paths import recorded_paths
from ranger_cdap.cdap.context import ROLES, Context
from ranger_cdap.cdap.entity import EntityId, entity_type
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.pattern import STAR, EntityPattern, entity_pattern
from ranger_cdap.cdap.plan import RequiredPrivilege, plan
from ranger_cdap.cdap.profile import ANY, VISIBLE, Operation, Profile

# Roles of entities that a user of the job names; the others are of running programs, and of impersonation.
_NAMED = ("datasets", "modules", "types", "programs", "applications", "artifacts", "keys")

# A name that stands for every name, allowed for entities of every type.
_EXAMPLE = "x"
_EXAMPLES = {"program": "workflow.x"}
_USER = "the user"
_REQUESTING = "requesting"

Entity = EntityId | EntityPattern


@dataclass(frozen=True, slots=True)
class JobNeed:
    """Privilege that operations of a job need: one of `actions` on the entities; `asked`: CDAP's checks, if it asks."""

    actions: tuple[str, ...]
    entity: Entity
    operations: tuple[str, ...]
    asked: tuple[AskedCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class JobPrivileges:
    """Privileges of a job by the profile, what CDAP asks in addition, and the operations that were not recorded."""

    needs: tuple[JobNeed, ...]
    more: tuple[JobNeed, ...]
    not_recorded: tuple[str, ...]


def job_privileges(
    profile: Profile,
    operations: Iterable[tuple[str, str]],
    options: Options = Options(),  # noqa: B008 a frozen value
) -> JobPrivileges:
    """Return the privileges of a user who performs these operations, each on everything in its namespace.

    Raises:
        UnknownOperation: the profile has no such operation.
        InvalidInput: CDAP allows no such namespace.
    """
    ways = [way for name, namespace in operations for way in _ways(profile, name, namespace, options)]
    held = [need for way in ways for need in way.needs]
    needs: dict[_Key, dict[str, None]] = {}
    asked: dict[_Key, dict[str, tuple[AskedCheck, ...]]] = {}
    for way in ways:
        for need in way.needs:
            narrowest = _narrowest(need, held)
            needs.setdefault((narrowest.actions, narrowest.entity), {})[way.operation] = None
        for one in way.asked(profile, options, held):
            asked.setdefault((one.actions, one.entity), {}).setdefault(way.operation, one.asked)
    return JobPrivileges(
        tuple(JobNeed(actions, entity, tuple(names)) for (actions, entity), names in needs.items()),
        tuple(
            JobNeed(
                actions, entity, tuple(checks), tuple(dict.fromkeys(c for several in checks.values() for c in several))
            )
            for (actions, entity), checks in asked.items()
        ),
        tuple(dict.fromkeys(way.operation for way in ways if not recorded_paths(way.operation))),
    )


_Key = tuple[tuple[str, ...], Entity]


@dataclass(frozen=True, slots=True)
class _Way:
    """Operation on an entity that stands for all of its type, and the needs of its alternative that gives least."""

    operation: str
    row: Operation
    entity: EntityId
    context: Context
    number: int
    needs: tuple[RequiredPrivilege, ...]

    def asked(
        self, profile: Profile, options: Options, held: Sequence[RequiredPrivilege]
    ) -> Iterator[AdditionalPrivilege]:
        """Yield what CDAP asks of the user beside all that is held."""
        more = additional_privileges(profile, self.row, self.entity, _USER, self.context, options, beside=held)
        for one in more.alternatives[self.number]:
            if one.capacity == _REQUESTING:
                checks = tuple(replace(check, entity=_every(check.entity, self.entity)) for check in one.asked)
                yield replace(one, entity=_every(one.entity, self.entity), asked=checks)


def _ways(profile: Profile, name: str, namespace: str, options: Options) -> Iterator[_Way]:
    """Yield each way of CDAP for an operation: an application is deployed from an artifact or from a jar."""
    row = options.applied_to(profile.operation(name))
    levels = entity_type(row.entity).path[2:]
    entity = EntityId(row.entity, (namespace, *(_EXAMPLES.get(level, _EXAMPLE) for level in levels)))
    for related in _related(name, namespace):
        context = Context(related)
        needs = plan(row, entity, _USER, context, options)
        if needs:
            more = additional_privileges(profile, row, entity, _USER, context, options).alternatives
            number = cheapest((*own, *also) for own, also in zip(needs, more, strict=True))
            own = [replace(one, entity=_every(one.entity, entity)) for one in needs[number]]
            mine = tuple(one for one in own if one.capacity == _REQUESTING)
            yield _Way(name, row, entity, context, number, mine)


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


def _every(one: Entity, example: EntityId) -> Entity:
    """Return all entities of the type in place of the example."""
    if one.parts != example.parts[: len(one.parts)] or len(one.parts) < 2:
        return one
    return _all_of(one.type, one.parts[0])
