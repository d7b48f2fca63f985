"""Shapes: histories that differ in names and times only are decided by one call, and its changes stamped on all. Pure.

Law: the rows are those that the fold makes of each history by itself.

The fold only compares the times, creators and keys of events. So a history has a shape if nothing in it is doubtful:
requests that succeeded, each certainly over before the next one began, all of them decided and after the baseline,
without checks and answers, and lives that began and ended by them. Every other history is folded by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, pairwise
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from ranger_cdap.cdap.creations import load_creations
from ranger_cdap.cdap.entity import EntityId, entity_type
from ranger_cdap.cdap.inventory import MARGIN
from ranger_cdap.errors import SyncError
from ranger_cdap.keyed import grouped
from spark_sync.ledger.event import NEVER, ChangeKind, Outcome, Stage
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.histories import BELOW, HistoryPart, histories
from spark_sync.ledger.ledger import Decide
from spark_sync.ledger.ledger_rows import CHANGES, EVENTS, LIVES, Row, change_row, places_of
from spark_sync.ledger.life import State
from spark_sync.ledger.spread_parts import SpreadPart

SAMPLED: Final = 1_000
"""Histories of a shape of which one is also folded by itself, to be compared; of fewer, the first."""

_EMPTY: Final = ("requester", "clock", "check", "child", "refused")
_SETTLED: Final = frozenset({State.KNOWN, State.PENDING, State.APPLIED, State.CLOSING, State.CLOSED})
"""States of lives in a shape, before and after: no user is named in them but the creator."""

_EQUAL: Final = (
    *(
        "number",
        "state",
        "reason",
        "accesses",
        "applied",
        "candidates",
        "former",
        "revoke",
        "versions",
        "taken",
        "copy",
    ),
    *("zone", "moves", "terms"),
)
"""Columns of a life that are equal in a shape."""

_TOLD: Final = {
    "begun": {
        "begun": "started",
        "begun_source": "source",
        "begun_id": "id",
        "source": "source",
        "event": "id",
        "certain": "ended",
    },
    "ended": {"ended": "ended", "ended_source": "source", "ended_id": "id"},
}
"""Columns of a life by the event that began or ended it, with those columns of the event to which they are equal."""

_CARRIED: Final = {"policy_id": -1, "policy_version": -1, "written": ""}
"""Columns of a life that the fold carries on, with their value in a new one."""


def fold_part(
    decide: Decide, settings: FoldSettings | None, instance: str, rows: HistoryPart | SpreadPart
) -> pa.RecordBatch:
    """Return what `decide` changes of a part's lives, as rows of `CHANGES` without their sequence.

    `settings`: those with which `decide` folds; without them each history is decided by itself.

    Raises:
        SyncError: a history has other changes by itself than by its shape (a bug; nothing is written).
    """

    def by_themselves(entities: Collection[EntityId]) -> pa.RecordBatch:
        changes = (change for history in histories(part.of(entities)) for change in decide(history))
        return pa.RecordBatch.from_pylist([change_row(instance, each) for each in changes], schema=CHANGES)

    part = rows.history_part() if isinstance(rows, SpreadPart) else rows
    if settings is None:
        return by_themselves(part.entities)
    shapes = _Shapes.of(part, settings)
    found = shapes.alike()
    alone = set(part.entities).difference(each.entity for alike in found for each in alike)
    samples = {str(each.entity) for alike in found for each in alike[::SAMPLED]}
    folded = by_themselves([*alone, *(each.entity for alike in found for each in alike[::SAMPLED])])
    is_sample = pc.is_in(folded["entity"], value_set=pa.array(samples, pa.string()))
    expected = grouped((row["entity"], row) for row in folded.filter(is_sample).to_pylist())
    batches = [folded.filter(pc.invert(is_sample))]
    for alike in found:
        stamps = [shapes.stamp(row, alike[0]) for row in expected.get(str(alike[0].entity), ())]
        if None in stamps:
            batches.append(by_themselves([each.entity for each in alike]))
            continue
        stamped = [shapes.stamped(instance, stamp, alike) for stamp in stamps if stamp]
        again = sorted((row for batch in stamped for row in batch[::SAMPLED].to_pylist()), key=_key_of)
        wanted = chain.from_iterable(expected.get(str(each.entity), ()) for each in alike[::SAMPLED])
        if again != sorted(wanted, key=_key_of):
            raise SyncError(
                f"the fold decides `{alike[0].entity}` and one with an equal history differently; report it"
            )
        batches += stamped
    return pa.concat_batches(batches)


def _key_of(row: Row) -> tuple[str, int]:
    return row["entity"], row["number"]


@dataclass(frozen=True, slots=True)
class _Shaped:
    """A history with a shape: rows of its events in their order, and rows of its lives by number."""

    entity: EntityId
    events: tuple[int, ...]
    lives: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _ShapedLife:
    """A changed life in terms of its history: `begun`, `ended` and `owner` are places of events, `old` one of a life.

    `equal`: the values that are equal in the shape.
    """

    begun: int | None
    ended: int | None
    owner: int | None
    old: int | None
    equal: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Shapes:
    """Columns of a part's events and lives, as lists.

    `plain`: which events may be in a shape; `creators`: whom they name, empty for no possible creator.
    """

    entities: tuple[EntityId, ...]
    settings: FoldSettings
    events: Mapping[str, Sequence[Any]]
    lives: Mapping[str, Sequence[Any]]
    plain: Sequence[bool]
    creators: Sequence[str]

    @classmethod
    def of(cls, part: HistoryPart, settings: FoldSettings) -> _Shapes:
        events, lives = pa.Table.from_batches(part.events, EVENTS), pa.Table.from_batches(part.lives, LIVES)
        names = ("entity", "type", "parts", "kind", "stage", "source", "id", "user", "started", "ended", "child")
        users = events["user"].combine_chunks().dictionary_encode()
        creators = list(map(settings.creator_named, users.dictionary.to_pylist()))
        return cls(
            part.entities,
            settings,
            {name: events[name].to_pylist() for name in names},
            {name: lives[name].to_pylist() for name in LIVES.names},
            _are_plain(events, settings).to_pylist(),
            [creators[n] for n in users.indices.to_pylist()],
        )

    def alike(self) -> list[list[_Shaped]]:
        """Return the histories of each shape that several have."""
        tokens, known = list[int](), dict[Any, int]()
        own, above = defaultdict[str, list[int]](list), defaultdict[tuple[str, tuple[str, ...]], list[int]](list)
        names = ("entity", "type", "parts", "kind", "stage", "source", "started", "ended")
        for row, (name, type_, parts, *token) in enumerate(zip(*map(self.events.__getitem__, names), strict=True)):
            own[name].append(row)
            if type_ in BELOW:
                above[type_, tuple(parts)].append(row)
            *token, started, ended = token
            tokens.append(known.setdefault((type_, *token, started == ended), len(known)))
        lives = grouped((name, row) for row, name in enumerate(self.lives["entity"]))
        found = defaultdict[Any, list[_Shaped]](list)
        for entity in self.entities:
            rows, path = list(own.get(name := str(entity), ())), entity_type(entity.type).path
            for depth in range(1, len(path) - 1) if above else ():
                rows += above.get((path[depth], entity.parts[:depth]), ())
            if len(rows) > 1:
                mine = (row for row in rows if self._concerns(entity, name, row))
                rows = sorted(mine, key=self.events["started"].__getitem__)
            shaped = _Shaped(
                entity, tuple(rows), tuple(sorted(lives.get(name, ()), key=self.lives["number"].__getitem__))
            )
            if all(map(self.plain.__getitem__, rows)) and not self._overlap(rows):
                users = dict[str, int]()
                ranks = [users.setdefault(user, len(users)) if (user := self.creators[row]) else -1 for row in rows]
                of_lives = [self._key(row, shaped) for row in shaped.lives]
                if None not in of_lives:
                    found[entity.type, len(rows), *map(tokens.__getitem__, rows), *ranks, *of_lives].append(shaped)
        return [alike for alike in found.values() if len(alike) > 1]

    def stamp(self, row: Row, of: _Shaped) -> _ShapedLife | None:
        """Return a changed row of a history in terms of that; `None` if it says more than these can."""
        begun, ended = self._event(of, row, "begun"), self._event(of, row, "ended")
        old = next((n for n, at in enumerate(of.lives) if self.lives["number"][at] == row["number"]), None)
        owner = next((n for n, at in enumerate(of.events) if self.creators[at] == row["creator"]), None)
        carried = {name: value if old is None else self.lives[name][of.lives[old]] for name, value in _CARRIED.items()}
        stamp = _ShapedLife(begun, ended, owner, old, {name: row[name] for name in _EQUAL})
        can_be = (
            not row["dropped"]
            and _is_settled(row)
            and (begun is not None or old is not None)
            and (ended is not None or row["ended"] is None)
            and (owner is not None or row["creator"] is None)
            and all(row[name] == value for name, value in carried.items())
        )
        return stamp if can_be else None

    def stamped(self, instance: str, stamp: _ShapedLife, alike: Sequence[_Shaped]) -> pa.RecordBatch:
        """Return the changed row of each of these histories, in their order."""
        entities = [each.entity for each in alike]
        namespace, application = places_of(entities[0].type)

        def of_event(name: str, place: int | None) -> list[Any]:
            return [None if place is None else self.events[name][each.events[place]] for each in alike]

        def of_life(name: str) -> list[Any]:
            assert stamp.old is not None
            return [self.lives[name][each.lives[stamp.old]] for each in alike]

        columns: dict[str, list[Any]] = {
            "instance": [instance] * len(alike),
            "entity": list(map(str, entities)),
            "type": [entity.type for entity in entities],
            "parts": [entity.parts for entity in entities],
            "namespace": [None if namespace is None else entity.parts[namespace] for entity in entities],
            "application": [None if application is None else entity.parts[application] for entity in entities],
            "creator": [None if stamp.owner is None else self.creators[each.events[stamp.owner]] for each in alike],
            **{name: of_event(told, stamp.ended) for name, told in _TOLD["ended"].items()},
            **{
                name: of_life(name) if stamp.begun is None else of_event(told, stamp.begun)
                for name, told in _TOLD["begun"].items()
            },
            **{name: [new] * len(alike) if stamp.old is None else of_life(name) for name, new in _CARRIED.items()},
            **{name: [value] * len(alike) for name, value in stamp.equal.items()},
            "dropped": [False] * len(alike),
            "sequence": [None] * len(alike),
        }
        return pa.RecordBatch.from_arrays([pa.array(columns[each.name], each.type) for each in CHANGES], schema=CHANGES)

    def _concerns(self, entity: EntityId, name: str, row: int) -> bool:
        """Return whether an event concerns the entity, as `matching.concerns`, its own or that of an ancestor."""
        child = self.events["child"][row]
        if self.events["entity"][row] == name:
            return not child
        if child:
            return bool(child == entity.type)
        replaced = load_creations().replaced.get(self.events["type"][row], ())
        is_answer = self.events["stage"][row] == Stage.ANSWER
        return not is_answer and (self.events["kind"][row] == ChangeKind.DELETE or entity.type in replaced)

    def _overlap(self, rows: Sequence[int]) -> bool:
        """Return whether one of the events, by their beginning, was not certainly over before the next one began."""
        started, ended = self.events["started"], self.events["ended"]
        return any(ended[one] + self.settings.skew >= started[other] for one, other in pairwise(rows))

    def _key(self, at: int, shaped: _Shaped) -> tuple[Any, ...] | None:
        """Return what is equal of a life in a shape, and the places of its events; `None` if it can have no shape."""
        row = {name: self.lives[name][at] for name in LIVES.names}
        begun, ended = self._event(shaped, row, "begun"), self._event(shaped, row, "ended")
        if begun is None:
            first = self.events["started"][shaped.events[0]] if shaped.events else NEVER
            is_known = row["begun"] + self.settings.skew < first and (row["creator"], row["certain"]) == (None, 0)
            fits = is_known and not any(row[name] for name in ("begun_source", "begun_id", "source", "event"))
        else:
            fits = row["creator"] is None or row["creator"] == self.creators[shaped.events[begun]]
        if not (fits and _is_settled(row) and (ended is not None or row["ended"] is None)):
            return None
        carried = (row["policy_id"] >= 0, row["policy_version"] >= 0, bool(row["written"]), row["creator"] is None)
        return begun, ended, *carried, *(str(row[name]) for name in _EQUAL)

    def _event(self, shaped: _Shaped, row: Row, end: str) -> int | None:
        """Return the place of the event by which a life began or ended; `None` if it is none of the history."""
        of = self.events
        for place, at in enumerate(shaped.events):
            if (of["source"][at], of["id"][at]) == (row[f"{end}_source"], row[f"{end}_id"]):
                return place if all(row[name] == of[told][at] for name, told in _TOLD[end].items()) else None
        return None


def _is_settled(row: Row) -> bool:
    return row["state"] in _SETTLED and not row["candidates"] and not row["former"] and not row["revoke"]


def _are_plain(events: pa.Table, settings: FoldSettings) -> pa.ChunkedArray:
    """Return of each event whether it may be in a shape."""
    started, ended = events["started"], events["ended"]
    took = pc.subtract(ended, started)
    taken = settings.baseline
    conditions = [
        pc.is_in(events["stage"], value_set=pa.array([Stage.MESSAGE.value, Stage.REQUEST.value])),
        pc.equal(events["outcome"], Outcome.DONE.value),
        pc.invert(pc.is_in(events["source"], value_set=pa.array([*settings.horizons], pa.string()))),
        *(pc.equal(pc.coalesce(events[name], ""), "") for name in _EMPTY),
        # Versions that were created only count where one was deleted.
        pc.or_(pc.equal(events["version"], ""), pc.equal(events["kind"], ChangeKind.CREATE.value)),
        pc.greater(started, -1 if taken is None else taken + MARGIN + settings.skew),
        pc.less_equal(started, settings.until),
        pc.and_(pc.greater_equal(took, 0), pc.less_equal(took, settings.unfinished_after)),
    ]
    return reduce(pc.and_, (pc.fill_null(each, False) for each in conditions))
