"""Decisions of a matrix: the engine's answers for every subject, entity and action."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from typing import Final, TypeVar

from ranger_cdap.authz.access_review import review_engine, reviewed
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.groups import GroupResolver, Membership
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.answer import is_allowed
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cdap.profile import ACTIONS
from ranger_cdap.engine import NO_POLICY, AccessRequest, PolicyEngine, Verdict
from ranger_cdap.engine.view import ANONYMOUS_USER
from ranger_cdap.errors import InvalidInput
from ranger_cdap.keyed import grouped
from ranger_cdap.tools.analysis.subject import Subject
from ranger_cdap.tools.questions.dependence import Dependences
from ranger_cdap.tools.questions.pattern_rows import PatternRows

_MARKS: Final = {Verdict.CONDITIONAL: "?", Verdict.UNDECIDED: "~", Verdict.DENIED: "!"}
LETTERS: Final = dict(zip(ACTIONS, "RWAX", strict=True))

MOST_CELLS: Final = 100_000
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class ActionAccess:
    """Decision on one action: the access, whether it is allowed now, and the deciding policy.

    `depends` says on what a conditional one depends, or what could not be decided. A row of a pattern whose answers
    differ has `parts`, and is conditional `in_part` if it is allowed for some of them.
    """

    verdict: Verdict
    allowed: bool
    policy_id: int
    depends: str = ""
    in_part: bool = False
    parts: tuple[RowVariant, ...] = ()

    @property
    def mark(self) -> str:
        """The character that follows a letter; none follows what is allowed."""
        return "/" if self.in_part else _MARKS.get(self.verdict, "")


@dataclass(frozen=True, slots=True)
class RowVariant:
    """Part of the entities of a row that are decided alike: one of them, and the access to it."""

    example: EntityId
    access: ActionAccess


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """Decisions for a subject and an entity, one per action."""

    marks: tuple[tuple[str, ActionAccess], ...]

    @property
    def is_empty(self) -> bool:
        """Return whether no policy applies."""
        return all(mark.verdict is Verdict.NO_POLICY for _, mark in self.marks)

    @property
    def by_policy(self) -> tuple[tuple[int, list[tuple[str, ActionAccess]]], ...]:
        """Return the policies that decide, -1 for none, with the letters of the actions."""
        return tuple(
            (policy_id, list(found)) for policy_id, found in groupby(self.letters, lambda pair: pair[1].policy_id)
        )

    @property
    def letters(self) -> tuple[tuple[str, ActionAccess], ...]:
        """Return the letters of the actions to which policies apply."""
        return tuple((LETTERS[action], mark) for action, mark in self.marks if mark.verdict is not Verdict.NO_POLICY)


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
    index: PolicyIndex,
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
    people = GroupResolver.of(snapshot, authorizer.decider.group_hook)
    subjects = (
        MatrixSubject("everybody", ""),
        *(_user(user, people.membership(user)) for user in sorted({*users, *others})),
        *(MatrixSubject("group", group, (group,)) for group in sorted(groups)),
    )
    if len(subjects) * len(entities) > MOST_CELLS:
        raise InvalidInput(
            f"{len(entities):,} entities for {len(subjects):,} users and groups are too many to look at; "
            "choose with `--type`, or use `ranger-cdap access --format parquet`"
        )
    rows, instance = [], authorizer.decider.config.instance
    patterns = PatternRows(engine, instance, entities)
    cells = _Cells(engine, instance, patterns, Dependences(engine, index.tagged), now)
    for number, entity in enumerate(entities, 1):
        progress(f"asking about {entity.type} {number:,} of {len(entities):,}")
        rows.append(cells.row(entity, subjects))
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
    if membership.refused:
        raise InvalidInput(f"nothing is known of `{name}`: {membership.refused}")
    return MatrixSubject("user", membership.user, tuple(sorted(membership.groups)), membership.known)


@dataclass(frozen=True, slots=True)
class _Cells:
    """The engine, evaluating entities at one time."""

    engine: PolicyEngine
    instance: str
    patterns: PatternRows
    dependences: Dependences
    now: int

    def row(self, row: EntityId | EntityPattern, subjects: Sequence[MatrixSubject]) -> tuple[MatrixCell, ...]:
        """Return a cell for each subject."""
        by_action = [self._accesses(row, action.lower(), subjects) for action in ACTIONS]
        return tuple(MatrixCell(tuple(zip(ACTIONS, marks, strict=True))) for marks in zip(*by_action, strict=True))

    def _accesses(
        self, row: EntityId | EntityPattern, access: str, subjects: Sequence[MatrixSubject]
    ) -> list[ActionAccess]:
        """Return an access for each subject."""
        if isinstance(row, EntityId):
            resource = to_resource(row, self.instance)
            return [self._access(resource, access, subject) for subject in subjects]
        standing_for = [
            self.patterns.of(row, _subject(subject), access, groups_known=subject.groups_known) for subject in subjects
        ]
        asked = grouped((entity, n) for n, found in enumerate(standing_for) for entity in found.entities)
        # Entity by entity, so that what is found of one is found once for all subjects alike.
        parts: list[list[RowVariant]] = [[] for _ in subjects]
        for entity, numbers in asked.items():
            resource = to_resource(entity, self.instance)
            for n in numbers:
                parts[n].append(RowVariant(entity, self._access(resource, access, subjects[n])))
        return [_combined(of, found.undecided) for of, found in zip(parts, standing_for, strict=True)]

    def _access(self, resource: dict[str, str], access: str, subject: MatrixSubject) -> ActionAccess:
        one = _subject(subject)
        request = AccessRequest(
            resource, access, one.user, one.groups, groups_known=subject.groups_known, access_time=self.now
        )
        decision, entry = reviewed(self.engine, request)
        allowed = is_allowed(decision)
        if entry is None:
            return ActionAccess(Verdict.NO_POLICY, allowed, decision.policy_id)
        if entry.verdict is not Verdict.CONDITIONAL:
            return ActionAccess(entry.verdict, allowed, decision.policy_id)
        found = self.dependences.of(one, resource, access, entry.policy_id)
        # With groups that are not known, the engine's answer stands.
        is_open = found.verdict is Verdict.UNDECIDED  # by a condition that no tried request fulfils
        verdict = found.verdict if subject.groups_known and not is_open else Verdict.CONDITIONAL
        return ActionAccess(verdict, allowed, decision.policy_id, found.text)


def _subject(subject: MatrixSubject) -> Subject:
    return Subject(subject.name if subject.kind == "user" else ANONYMOUS_USER, frozenset(subject.groups))


def _combined(parts: Sequence[RowVariant], undecided: str) -> ActionAccess:
    """Return the access to all entities of a row: one for all, or in part."""
    alike = tuple({part.access: part for part in reversed(parts)}.values())[::-1]
    verdicts = {part.access.verdict for part in alike}
    nowhere = {Verdict.DENIED, Verdict.NO_POLICY}
    in_part = len(verdicts) > 1 and not verdicts <= nowhere and (not undecided or bool(verdicts & nowhere))
    if in_part:
        verdict = Verdict.CONDITIONAL
    elif undecided:
        verdict = Verdict.UNDECIDED
    elif verdicts <= nowhere:
        verdict = Verdict.DENIED if Verdict.DENIED in verdicts else Verdict.NO_POLICY
    else:
        (verdict,) = verdicts
    if not alike:
        return ActionAccess(verdict, False, NO_POLICY, undecided)
    shown = next((part.access for part in alike if part.access.verdict is verdict), alike[0].access)
    texts = [*dict.fromkeys(part.access.depends for part in alike if part.access.depends), undecided]
    return replace(
        shown,
        verdict=verdict,
        policy_id=NO_POLICY if in_part or verdict is Verdict.UNDECIDED else shown.policy_id,
        allowed=all(part.access.allowed for part in alike) and not undecided,
        depends="; or ".join(filter(None, texts)) if not in_part else undecided,
        in_part=in_part,
        parts=alike if len(alike) > 1 else (),
    )
