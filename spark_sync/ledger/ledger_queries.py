"""`LedgerQueries`: the SQL of the ledger. Texts only go in by `quoted`, so that what an event says is never SQL."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from spark_sync.ledger.event import NEVER, Stage
from spark_sync.ledger.fold_progress import FoldProgress
from spark_sync.ledger.ledger_rows import CHANGES, LIVES, PLACE
from spark_sync.ledger.life import State

_NEWEST: Final = (
    "WITH newest AS (SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY instance, entity, number"
    " ORDER BY sequence DESC) AS place FROM changes) WHERE place = 1)"
)
LAST_CHANGE: Final = "SELECT coalesce(max(sequence), 0) AS last, count(*) AS changes FROM changes"
EXISTING: Final = f"ended IS NULL AND state <> '{State.UNCONFIRMED.value}'"
"""The condition for decided lives of entities that exist, as far as is known."""
OF_OTHERS: Final = f"entity NOT IN (SELECT entity FROM lives WHERE {EXISTING})"
"""The condition for lives of all other entities."""


def quoted(*texts: str) -> str:
    """Return texts as literals of SQL with commas, `NULL` for none."""
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts) or "NULL"


def columns(names: Iterable[str]) -> str:
    """Return the names of columns with commas."""
    return ", ".join(f'"{name}"' for name in names)


NEWEST_CHANGES: Final = f"{_NEWEST} SELECT {columns(CHANGES.names)} FROM newest"


@dataclass(frozen=True, slots=True)
class LedgerQueries:
    """The queries about one CDAP instance."""

    instance: str

    def lives(self, condition: str, selected: str = "*", *, most: int | None = None) -> str:
        """Select from the newest row of each life; `condition` may also query `lives`."""
        limit = "" if most is None else f" LIMIT {most}"
        return f"{self._newest_lives} SELECT {selected} FROM lives WHERE {condition}{limit}"

    def events(self, condition: str, selected: str = "*", *, most: int | None = None) -> str:
        """Select from the events."""
        limit = "" if most is None else f" LIMIT {most}"
        return f"SELECT {selected} FROM events WHERE {self._here} AND ({condition}){limit}"

    def new_events(self, progress: FoldProgress, most: int) -> str:
        """Select the places of events that are to be folded."""
        return self.events(_is_new(progress), f"{columns(PLACE)}, kind, coalesce(child, '') AS child", most=most)

    def known_ids(self, source: str, ids: Sequence[str]) -> str:
        """Select those ids of a source, of whatever instance, that are stored."""
        return f"SELECT id FROM events WHERE source = {quoted(source)} AND id IN ({quoted(*ids)})"

    def changed_entities(self) -> str:
        """Select the entities of which a life was changed or dropped since the last merge."""
        return f"SELECT DISTINCT entity FROM changes WHERE {self._here}"

    def newest_round(self) -> str:
        """Select the last round of events."""
        return self.events("true", "max(round) AS newest")

    def decided_until(self, progress: FoldProgress) -> str:
        """Select the time of the newest event before those of `young_events`, and the number of events after them."""
        old = f"round <= {progress.folded} AND NOT coalesce({_waits(progress)}, false)"
        newest = f"max(time) FILTER (WHERE {old}) AS newest"
        return self.events("true", f"{newest}, count(*) FILTER (WHERE round > {progress.folded}) AS waiting")

    def young_events(self, progress: FoldProgress) -> str:
        """Select the events of folded rounds that were possibly too young to be decided."""
        return self.events(f"round <= {progress.folded} AND {_waits(progress)}")

    def groups(self) -> str:
        """Select `GrantGroup`s and their sizes."""
        selected = "state, type, accesses, terms, creator IS NOT NULL AS has_creator, count(*) AS lives"
        return f"{self.lives('true', selected)} GROUP BY 1, 2, 3, 4, 5"

    def newest_baseline(self) -> str:
        """Select the newest inventory."""
        return f"SELECT taken, journals FROM baseline WHERE {self._here} ORDER BY taken DESC LIMIT 1"

    @property
    def _here(self) -> str:
        return f"instance = {quoted(self.instance)}"

    @property
    def _newest_lives(self) -> str:
        names = columns(LIVES.names)
        return (
            f"{_NEWEST}, lives AS (SELECT {names} FROM ledger AS old WHERE {self._here} AND NOT EXISTS"
            " (SELECT 1 FROM newest WHERE newest.instance = old.instance AND newest.entity = old.entity AND"
            " newest.number = old.number)"
            f" UNION ALL SELECT {names} FROM newest WHERE {self._here} AND NOT dropped)"
        )


def _is_new(progress: FoldProgress) -> str:
    """Return the condition for events that are to be folded, as `bulk_ledger` states it for Spark."""
    check, closed = quoted(Stage.CHECK.value), progress.scope.closed
    may_end = f"(stage = {check} AND (received > {closed} OR (received IS NULL AND time > {closed})))"
    return f"round > {progress.folded} OR {_waits(progress)} OR {may_end}"


def _waits(progress: FoldProgress) -> str:
    """Return the condition for events that are not decided whatever their source.

    Each column is compared by itself, so that most files and pages are skipped by their statistics.
    """
    decided = progress.scope.decided
    after = " OR ".join(f'"{name}" >= {decided}' for name in ("received", "time", "started"))
    ends = f"(ended >= {decided} AND ended < {NEVER})"
    return f"(({after} OR {ends}) AND coalesce(stage, '') <> {quoted(Stage.REJECTED.value)})"
