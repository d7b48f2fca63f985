"""The answers of a matrix: the engine, asked for everybody about every entity and action."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.groups import GroupResolver, Membership
from ranger_cdap.cdap.answer import is_allowed
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cdap.profile import ACTIONS
from ranger_cdap.engine import AccessRequest, Decision, PolicyEngine
from ranger_cdap.engine.decide.acl import NOBODY_IN_PARTICULAR
from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.plugins.manager import plugin_manager

LETTERS: Final = dict(zip(ACTIONS, "RWAX", strict=True))

_MOST_CELLS: Final = 100_000


class Standing(Enum):
    """How somebody stands to an action on an entity."""

    ALLOWED = "allowed"
    CONDITIONAL = "conditional"
    DENIED = "denied"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Mark:
    """One action: how somebody stands to it, whether it is allowed now, and the policy that says so."""

    standing: Standing
    allowed: bool
    policy_id: int


@dataclass(frozen=True, slots=True)
class Cell:
    """Somebody and an entity: a mark for each action."""

    marks: tuple[tuple[str, Mark], ...]

    @property
    def is_empty(self) -> bool:
        """Whether no policy speaks of it."""
        return all(mark.standing is Standing.NONE for _, mark in self.marks)

    @property
    def letters(self) -> tuple[tuple[str, Mark], ...]:
        """The letters of those actions that policies speak of."""
        return tuple((LETTERS[action], mark) for action, mark in self.marks if mark.standing is not Standing.NONE)


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a column: `everybody`, a `user` with the groups they are known to be in, or a `group`."""

    kind: str
    name: str
    groups: tuple[str, ...] = ()
    groups_known: bool = True

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


@dataclass(frozen=True, slots=True)
class Matrix:
    """A row for each entity with a cell for each subject; `taken` is when it was asked."""

    namespace: str
    service: str
    policy_version: int
    taken: str
    subjects: tuple[Subject, ...]
    entities: tuple[EntityId | EntityPattern, ...]
    rows: tuple[tuple[Cell, ...], ...]


def matrix(
    authorizer: Authorizer,
    entities: Sequence[EntityId | EntityPattern],
    users: Collection[str],
    groups: Collection[str],
    *,
    now: int,
    progress: Callable[[str], None],
) -> Matrix:
    """All answers, by one set of policies at one time (`now`, epoch milliseconds).

    Raises:
        NotReady: there are no policies.
        InvalidInput: it would be larger than a person can look at.
    """
    snapshot = authorizer.snapshot
    if snapshot.engine is None:
        raise NotReady(snapshot.reason)
    hook = plugin_manager().hook.ranger_cdap_groups
    people = GroupResolver({}, snapshot.groups_of, hook if hook.get_hookimpls() else None)
    subjects = (
        Subject("everybody", ""),
        *(_user(user, people.membership(user)) for user in sorted(users)),
        *(Subject("group", group, (group,)) for group in sorted(groups)),
    )
    if len(subjects) * len(entities) > _MOST_CELLS:
        raise InvalidInput(
            f"{len(entities):,} entities for {len(subjects):,} users and groups are too many to look at; "
            "choose with `--type`, or use `ranger-cdap review`"
        )
    rows, instance = [], authorizer.decider.rules.instance
    for number, entity in enumerate(entities, 1):
        progress(f"asking about {entity.type} {number:,} of {len(entities):,}")
        rows.append(tuple(_cell(snapshot.engine, instance, entity, subject, now) for subject in subjects))
    return Matrix(
        namespace=entities[0].parts[0],
        service=snapshot.engine.service_name,
        policy_version=snapshot.engine.policy_version,
        taken=datetime.fromtimestamp(now / 1000, UTC).isoformat(timespec="seconds"),
        subjects=subjects,
        entities=tuple(entities),
        rows=tuple(rows),
    )


def _user(name: str, membership: Membership) -> Subject:
    return Subject("user", name, tuple(sorted(membership.groups)), membership.known)


def _cell(engine: PolicyEngine, instance: str, entity: EntityId | EntityPattern, subject: Subject, now: int) -> Cell:
    probes = entity.probes() if isinstance(entity, EntityPattern) else (entity,)
    marks = []
    for action in ACTIONS:
        decisions = engine.evaluate_many(
            AccessRequest(
                to_resource(probe, instance),
                action.lower(),
                user=subject.name if subject.kind == "user" else NOBODY_IN_PARTICULAR,
                groups=frozenset(subject.groups),
                groups_known=subject.groups_known,
                access_time=now,
            )
            for probe in probes
        )
        marks.append((action, _mark(decisions)))
    return Cell(tuple(marks))


def _mark(decisions: Sequence[Decision]) -> Mark:
    """The answer for all of them: a denial of one of them decides."""
    decision = next((d for d in decisions if not is_allowed(d)), decisions[0])
    allowed = is_allowed(decision)
    if any(d.conditional for d in decisions):
        standing = Standing.CONDITIONAL
    elif allowed:
        standing = Standing.ALLOWED
    else:
        standing = Standing.DENIED if decision.policy_id >= 0 else Standing.NONE
    return Mark(standing, allowed, decision.policy_id)
