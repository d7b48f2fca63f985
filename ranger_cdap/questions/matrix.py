"""Decisions of a matrix: the engine's answers for every subject, entity and action."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Final, TypeVar

from ranger_cdap.authz.access_review import review_engine, reviewed
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.groups import GroupResolver, Membership
from ranger_cdap.cdap.answer import is_allowed
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.pattern import STAR, EntityPattern
from ranger_cdap.cdap.profile import ACTIONS
from ranger_cdap.engine import AccessEntry, AccessRequest, AccessStatus, Decision, PolicyEngine
from ranger_cdap.engine.decide.acl import ANONYMOUS_USER
from ranger_cdap.errors import InvalidInput
from ranger_cdap.plugins.manager import plugin_manager

LETTERS: Final = dict(zip(ACTIONS, "RWAX", strict=True))

MOST_CELLS: Final = 100_000
_Item = TypeVar("_Item")
_ORDER: Final = (AccessStatus.DENIED, None, AccessStatus.CONDITIONAL, AccessStatus.ALLOWED)


class MatrixStatus(Enum):
    """Access of a subject to an action on an entity."""

    ALLOWED = "allowed"
    CONDITIONAL = "conditional"
    DENIED = "denied"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class ActionAccess:
    """Decision on one action: the access, whether it is allowed now, and the deciding policy."""

    standing: MatrixStatus
    allowed: bool
    policy_id: int


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """Decisions for a subject and an entity, one per action."""

    marks: tuple[tuple[str, ActionAccess], ...]

    @property
    def is_empty(self) -> bool:
        """Return whether no policy applies."""
        return all(mark.standing is MatrixStatus.NONE for _, mark in self.marks)

    @property
    def letters(self) -> tuple[tuple[str, ActionAccess], ...]:
        """Return the letters of the actions to which policies apply."""
        return tuple((LETTERS[action], mark) for action, mark in self.marks if mark.standing is not MatrixStatus.NONE)


@dataclass(frozen=True, slots=True)
class MatrixSubject:
    """Subject of a column: `everybody`, a `user` with their known groups, or a `group`."""

    kind: str
    name: str
    groups: tuple[str, ...] = ()
    groups_known: bool = True

    def __str__(self) -> str:
        return f"{self.kind} {self.name}".strip()


@dataclass(frozen=True, slots=True)
class Matrix:
    """A row per entity with a cell per subject; `taken` is the time of the decisions."""

    namespace: str
    service: str
    policy_version: int
    taken: str
    subjects: tuple[MatrixSubject, ...]
    entities: tuple[EntityId | EntityPattern, ...]
    rows: tuple[tuple[MatrixCell, ...], ...]


def matrix(
    authorizer: Authorizer,
    entities: Sequence[EntityId | EntityPattern],
    users: Collection[str],
    groups: Collection[str],
    *,
    others: Collection[str] = (),
    now: int,
    progress: Callable[[str], None],
) -> Matrix:
    """Return all decisions of one set of policies at one time (`now`, epoch milliseconds).

    Of the `others`, those users are shown whose access differs from everybody's.

    Raises:
        NotReady: there are no policies.
        InvalidInput: the matrix would be too large to read.
    """
    snapshot = authorizer.snapshot
    engine = review_engine(snapshot, now)
    hook = plugin_manager().hook.ranger_cdap_groups
    people = GroupResolver({}, snapshot.groups_of, hook if hook.get_hookimpls() else None)
    subjects = (
        MatrixSubject("everybody", ""),
        *(_user(user, people.membership(user)) for user in sorted({*users, *others})),
        *(MatrixSubject("group", group, (group,)) for group in sorted(groups)),
    )
    if len(subjects) * len(entities) > MOST_CELLS:
        raise InvalidInput(
            f"{len(entities):,} entities for {len(subjects):,} users and groups are too many to look at; "
            "choose with `--type`, or use `ranger-cdap review`"
        )
    rows, instance = [], authorizer.decider.config.instance
    for number, entity in enumerate(entities, 1):
        progress(f"asking about {entity.type} {number:,} of {len(entities):,}")
        rows.append(tuple(_cell(engine, instance, entity, subject, now) for subject in subjects))
    dull = [
        number
        for number, subject in enumerate(subjects)
        if subject.kind == "user" and subject.name not in users and all(row[number] == row[0] for row in rows)
    ]
    subjects, rows = _without(dull, subjects), [_without(dull, row) for row in rows]
    return Matrix(
        namespace=entities[0].parts[0],
        service=engine.service_name,
        policy_version=engine.policy_version,
        taken=datetime.fromtimestamp(now / 1000, UTC).isoformat(timespec="seconds"),
        subjects=subjects,
        entities=tuple(entities),
        rows=tuple(rows),
    )


def _without(positions: Collection[int], items: Sequence[_Item]) -> tuple[_Item, ...]:
    return tuple(item for number, item in enumerate(items) if number not in positions)


def _user(name: str, membership: Membership) -> MatrixSubject:
    return MatrixSubject("user", name, tuple(sorted(membership.groups)), membership.known)


def _cell(
    engine: PolicyEngine, instance: str, entity: EntityId | EntityPattern, subject: MatrixSubject, now: int
) -> MatrixCell:
    marks = []
    for action in ACTIONS:
        requests = (
            AccessRequest(
                to_resource(one, instance),
                action.lower(),
                user=subject.name if subject.kind == "user" else ANONYMOUS_USER,
                groups=frozenset(subject.groups),
                groups_known=subject.groups_known,
                access_time=now,
            )
            for one in _standing_for(entity)
        )
        marks.append((action, _combined([reviewed(engine, request) for request in requests])))
    return MatrixCell(tuple(marks))


def _standing_for(entity: EntityId | EntityPattern) -> Iterator[EntityId]:
    """Yield an entity, or names by which policies on a pattern as a whole decide; what they name has its own row.

    CDAP allows `~` in no name, so no policy names such an entity. Ranger matches `*` with policies on every name.
    """
    partial = any(STAR in part and part != STAR for part in entity.parts)
    for stand_in in ("", "~", "~" * 41) if partial else (STAR,):
        yield EntityId(entity.type, tuple(p if p == STAR else p.replace(STAR, stand_in) for p in entity.parts))


def _combined(decided: Sequence[tuple[Decision, AccessEntry | None]]) -> ActionAccess:
    """Combine the names that stand for a pattern: a denial decides, then a condition."""
    worst = min(decided, key=lambda pair: _ORDER.index(pair[1] and pair[1].status))
    decision = next((d for d, _ in decided if not is_allowed(d)), worst[0])
    status = MatrixStatus.NONE if worst[1] is None else MatrixStatus(worst[1].status.value)
    shown = worst[0] if status in (MatrixStatus.DENIED, MatrixStatus.NONE) else decision
    return ActionAccess(status, is_allowed(decision), shown.policy_id)
