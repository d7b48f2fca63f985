"""`LedgerQueries`: the SQL of the ledger. Texts only go in by `quoted`, so that what an event says is never SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from spark_sync.ledger.event import NEVER, Stage
from spark_sync.ledger.ledger import FoldProgress
from spark_sync.ledger.ledger_rows import CHANGES, EVENTS, LIVES
from spark_sync.ledger.life import UNDECIDED_STATES, State

_UNCHANGED: Final = (
    "NOT EXISTS (SELECT 1 FROM newest WHERE newest.instance = old.instance AND newest.entity = old.entity AND"
    " newest.number = old.number)"
)
LAST_CHANGE: Final = "SELECT coalesce(max(sequence), 0) AS last, count(*) AS changes FROM changes"
EXISTING: Final = f"ended IS NULL AND state <> '{State.UNCONFIRMED.value}'"
"""The condition for decided lives of entities that exist, as far as is known."""
OF_OTHERS: Final = f"entity NOT IN (SELECT entity FROM lives WHERE {EXISTING})"
"""The condition for lives of all other entities."""


BUCKET: Final = "left(md5(concat(parts[1], '.', parts[2])), 2) AS bucket"
"""A row's bucket, in two hexadecimal digits, whatever entities are called."""


def quoted(*texts: str) -> str:
    """Return texts as literals of SQL with commas, `NULL` for none."""
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts) or "NULL"


ROWS: Final = "SELECT (SELECT count(*) FROM changes) + (SELECT count(*) FROM ledger) AS rows"
_SAMPLED: Final = "left(md5(entity), 2) = '00'"
"""The condition for one entity in 256, whatever their names are."""
SAMPLE: Final = (
    f"SELECT entity FROM changes WHERE {_SAMPLED} UNION SELECT entity FROM ledger WHERE {_SAMPLED} ORDER BY entity"
)


def slices(sample: Sequence[str], count: int) -> tuple[str, ...]:
    """Return the conditions for so many ranges of entities, about equal in size by a sample in their order.

    What is kept of all rows at a time, as the newest change of each life, is kept of one slice of them.
    """
    bounds = sorted({sample[len(sample) * n // count] for n in range(1, count)}) if sample else ()
    lower = ("true", *(f"entity > {quoted(bound)}" for bound in bounds))
    upper = (*(f"entity <= {quoted(bound)}" for bound in bounds), "true")
    return tuple(f"{low} AND {high}" for low, high in zip(lower, upper, strict=True))


def newest(within: str) -> str:
    """Return a `WITH` clause for `newest`: the newest change of each life of the entities in a slice."""
    some = f"FROM changes WHERE {within}"
    newest = f"SELECT max(sequence) {some} GROUP BY instance, entity, number"
    return f"WITH newest AS (SELECT * {some} AND sequence IN ({newest}))"


def newest_changes(within: str) -> str:
    """Select the newest change of each life in a slice."""
    return f"{newest(within)} SELECT {columns(CHANGES.names)} FROM newest"


def newest_lives(within: str) -> str:
    """Select the lives of all instances in a slice."""
    return (
        f"{newest(within)} SELECT {columns(LIVES.names)} FROM ledger AS old WHERE {within} AND {_UNCHANGED}"
        f" UNION ALL SELECT {columns(LIVES.names)} FROM newest WHERE NOT dropped"
    )


def columns(names: Iterable[str]) -> str:
    """Return the names of columns with commas."""
    return ", ".join(f'"{name}"' for name in names)


NEWEST_NOTES: Final = (
    "SELECT instance, name, value, sequence FROM (SELECT *, row_number() OVER (PARTITION BY instance, name"
    " ORDER BY sequence DESC) AS place FROM notes) WHERE place = 1"
)
NO_CHANGES: Final = f"SELECT {columns(CHANGES.names)} FROM changes WHERE false"


def kept_events(before: int, *, selected: str = "") -> str:
    """Select the events of all instances that a fold may still need, once `changes` has moved into the ledger.

    They are those since that time, those of undecided lives, and those that name the versions of an existing entity,
    which ends with its last version. An event that is read again after its removal changes nothing: lives stay, and
    with them the time before which events no longer count.
    """
    undecided = f"state IN ({quoted(*(state.value for state in UNDECIDED_STATES))})"
    of_lives = f"SELECT instance, entity, bool_or({undecided}) AS undecided, bool_or(ended IS NULL) AS exists_"
    names = selected or ", ".join(f'event."{name}"' for name in EVENTS.names)
    return (
        f"WITH known AS ({of_lives} FROM ledger GROUP BY 1, 2) SELECT {names} FROM events AS event LEFT JOIN known"
        " ON known.instance = event.instance AND known.entity = event.entity"
        f" WHERE event.time >= {before} OR known.undecided OR (known.exists_ AND event.version <> '')"
    )


@dataclass(frozen=True, slots=True)
class LedgerQueries:
    """The queries about one CDAP instance."""

    instance: str

    def lives(self, condition: str, selected: str = "*", within: str = "true") -> str:
        """Select from the newest row of each life in a slice; `condition` may also query `lives`."""
        names, here = columns(LIVES.names), f"instance = {quoted(self.instance)}"
        return (
            f"{newest(within)}, lives AS"
            f" (SELECT {names} FROM ledger AS old WHERE {here} AND {within} AND {_UNCHANGED}"
            f" UNION ALL SELECT {names} FROM newest WHERE {here} AND NOT dropped)"
            f" SELECT {selected} FROM lives WHERE {condition}"
        )

    def rows(self, table: str, condition: str = "true", selected: str = "*") -> str:
        """Select from the rows of a table."""
        return f"SELECT {selected} FROM {table} WHERE instance = {quoted(self.instance)} AND ({condition})"

    def known_ids(self, source: str, ids: Iterable[str]) -> str:
        """Select those ids of a source, of whatever instance, that are stored."""
        return f"SELECT id FROM events WHERE source = {quoted(source)} AND id IN ({quoted(*ids)})"

    def new_events(self, progress: FoldProgress, others: str) -> str:
        """Select what says which entities the events that are to be folded concern.

        `others`: the condition for events that concern what is in their entity.
        """
        selected = f"type, parts, coalesce(child, '') AS child, {others} AS others"
        return self.rows("events", _is_new(progress), selected) + " GROUP BY 1, 2, 3, 4"

    def fresh_events(self, progress: FoldProgress) -> str:
        """Select the number of events that are to be folded."""
        return self.rows("events", _is_new(progress), "count(*) AS events")

    def spread_events(self, progress: FoldProgress, others: str) -> str:
        """Select the events for `spread_parts`; `others` as in `new_events`."""
        flags = f"coalesce({_is_new(progress)}, false) AS fresh, coalesce({others}, false) AS others"
        return self.rows("events", selected=f"{columns(EVENTS.names)}, {flags}, {BUCKET}")

    def spread_lives(self, table: str, names: Iterable[str]) -> str:
        """Select the rows of lives in a table for `spread_parts`."""
        return self.rows(table, selected=f"{columns(names)}, {BUCKET}")

    def decided_until(self, progress: FoldProgress) -> str:
        """Select the time of the newest event before those of `young_events`, and the number of events after them."""
        old = f"round <= {progress.folded} AND NOT coalesce({_waits(progress)}, false)"
        newest = f"max(time) FILTER (WHERE {old}) AS newest"
        return self.rows("events", "true", f"{newest}, count(*) FILTER (WHERE round > {progress.folded}) AS waiting")

    def young_events(self, progress: FoldProgress) -> str:
        """Select the events of folded rounds that were possibly too young to be decided."""
        return self.rows("events", f"round <= {progress.folded} AND {_waits(progress)}")


def _is_new(progress: FoldProgress) -> str:
    """Return the condition for events that are to be folded."""
    check, closed = quoted(Stage.CHECK.value), progress.scope.closed
    may_end = f"(stage = {check} AND (received > {closed} OR (received IS NULL AND time > {closed})))"
    return f"round > {progress.folded} OR {_waits(progress)} OR {may_end}"


def _waits(progress: FoldProgress) -> str:
    """Return the condition for events that are not decided whatever their source.

    Each column is compared separately, so that most files and pages are skipped by their statistics.
    """
    decided = progress.scope.decided
    after = " OR ".join(f'"{name}" >= {decided}' for name in ("received", "time", "started"))
    ends = f"(ended >= {decided} AND ended < {NEVER})"
    return f"(({after} OR {ends}) AND coalesce(stage, '') <> {quoted(Stage.REJECTED.value)})"
