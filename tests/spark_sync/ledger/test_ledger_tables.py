"""The ledger's tables without Spark: any text comes back, the newest change counts, and nothing half-written does.

The dictionary by (entity, number) of `Model` is what the tables must be, whoever wrote them, in whatever order.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.errors import LedgerLost, SyncError
from spark_sync.ledger import delta_ledger, life_pages
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.event import ChangeKind, EntityEvent, Outcome, Position, Stage
from spark_sync.ledger.ledger import Baseline, History, LedgerChange
from spark_sync.ledger.ledger_queries import kept_events, newest_lives, slices
from spark_sync.ledger.ledger_rows import CHANGES, EVENTS, LIVES, Row, batches, change_row, event_of, life_of
from spark_sync.ledger.ledger_tables import TABLES, LedgerTables
from spark_sync.ledger.ledger_version import note_versions, verify
from spark_sync.ledger.life import GrantTerms, Life, State
from tests.disk_faults import NOBODY, full_disk

if TYPE_CHECKING:
    pass

ROOT = Path(__file__).parents[3]
BEGUN = Position(100, False, "s", "1")


@contextmanager
def new_directory() -> Iterator[Path]:
    """A directory for one example."""
    with TemporaryDirectory() as made:
        yield Path(made)


# --- any text -----------------------------------------------------------------------------------------------------

NASTY = (
    "'", "''", '"', "\\", "\\'", "\x00", "\n", "\r\n", "\u2028", "\U0001f600", "é", "e\u0301", "%", "_", "--", "/*",
    "*/", "'; DROP TABLE events; --", "' OR '1'='1", "') OR ('a'='a", "{user}", "$1", "?", ":a", "@a", "NULL", "", " ",
    "\t", "\ufeff", "\ud7ff", "\U0010ffff", "U&'\\0027'", "E'\\x27'", "x" * 70_000, "'" * 30_000,
)  # fmt: skip
TEXT = st.one_of(st.sampled_from(NASTY), st.text(max_size=12), st.lists(st.sampled_from(NASTY[:34])).map("".join))
WITHOUT_DOT = TEXT.map(lambda text: text.replace(".", ""))
SLOWLY = settings(max_examples=8, suppress_health_check=list(HealthCheck))


@st.composite
def events_of_any_text(draw: st.DrawFn) -> EntityEvent:
    return EntityEvent(
        EntityId("dataset", (draw(WITHOUT_DOT), draw(TEXT))), draw(st.sampled_from(ChangeKind)), Stage.REQUEST,
        draw(TEXT), 100, 110, draw(TEXT), draw(TEXT), requester=draw(TEXT), clock=draw(TEXT), check=draw(TEXT),
        request=draw(TEXT), version=draw(TEXT), caller=draw(TEXT), received=120,
    )  # fmt: skip


@st.composite
def lives_of_any_text(draw: st.DrawFn) -> Life:
    texts = st.lists(TEXT, max_size=3).map(tuple)
    entity = EntityId("application", (draw(WITHOUT_DOT), draw(TEXT)))
    return Life(
        entity, draw(st.integers(1, 3)), draw(st.none() | TEXT), Position(100, False, draw(TEXT), draw(TEXT)),
        draw(st.sampled_from(State)), reason=draw(TEXT), accesses=draw(texts), source=draw(TEXT), event=draw(TEXT),
        applied=draw(texts), written=draw(TEXT), candidates=draw(texts),
        former=draw(TEXT), versions=draw(st.none() | texts), certain=110,
        terms=draw(st.none() | st.builds(GrantTerms, TEXT, st.booleans(), TEXT)),
        ended=draw(st.none() | st.builds(Position, st.integers(200, 300), st.just(True), TEXT, TEXT)),
    )  # fmt: skip


@given(lives=st.lists(lives_of_any_text(), min_size=1, max_size=8, unique_by=lambda life: (life.entity, life.number)))
@SLOWLY
def test_a_life_of_any_text_comes_back_and_selects_no_other(lives: list[Life]) -> None:
    with new_directory() as directory:
        ledger = DeltaLedger(directory, "cdap")
        ledger.record(LedgerChange(None, life) for life in lives)
        assert by_key(ledger.lives(list(State))) == by_key(lives)
        for entity in {life.entity for life in lives}:
            assert by_key(ledger.find_lives(entities=[entity])) == by_key(
                life for life in lives if life.entity == entity
            )
        gone = lives[0]
        ledger.record([LedgerChange(gone, None)])
        assert by_key(ledger.lives(list(State))) == by_key(lives[1:])


@given(events=st.lists(events_of_any_text(), min_size=2, max_size=8, unique_by=lambda event: (event.source, event.id)))
@SLOWLY
def test_an_event_of_any_text_is_new_once_and_is_no_other(events: list[EntityEvent]) -> None:
    *known, other = events
    found: list[History] = []

    def noted(history: History) -> list[LedgerChange]:
        found.append(history)
        return []

    with new_directory() as directory:
        ledger = DeltaLedger(directory, "cdap")
        assert ledger.add_events(known) == len(known)
        assert ledger.add_events(known) == 0
        assert ledger.add_events([*reversed(events)]) == 1
        ledger.fold(noted)
        rows = list(LedgerTables(directory).query("SELECT * FROM events"))
    assert Counter(map(event_of, rows)) == Counter(events)
    assert {history.entity for history in found} == {event.entity for event in events}
    for history in found:
        mine = {event for event in events if event.entity == history.entity}
        assert mine <= set(history.events), "what is above it may come with it, nothing may be missing"
        assert {event.entity for event in history.events} == {history.entity}
    assert other in {event for history in found for event in history.events}


@pytest.mark.parametrize("instance", ["o'hara", "'; --", "\\", "\U0001f600"])
def test_an_instance_of_any_name_has_its_own_rows(instance: str, tmp_path: Path) -> None:
    mine, other = DeltaLedger(tmp_path, instance), DeltaLedger(tmp_path, "cdap")
    life = Life(EntityId("dataset", ("n", "d")), 1, "alice", BEGUN, State.PENDING)
    mine.record([LedgerChange(None, life)])
    mine.enter_baseline(7, [EntityId("namespace", ("n",))], journals={"'": '"'})
    assert (len(mine.lives(list(State))), other.lives(list(State))) == (2, [])
    assert (mine.baseline(), other.baseline()) == (Baseline(7, {"'": '"'}), None)


# --- the newest change counts -------------------------------------------------------------------------------------

Key = tuple[EntityId, int]


def by_key(lives: Iterable[Life]) -> dict[Key, Life]:
    found = list(lives)
    keyed = {(life.entity, life.number): life for life in found}
    assert len(keyed) == len(found), "a life was returned twice"
    return keyed


@dataclass
class Model:
    """The lives that the tables must return."""

    lives: dict[Key, Life] = field(default_factory=dict)

    def record(self, changes: Iterable[LedgerChange]) -> None:
        for change in changes:
            if change.after:
                self.lives[change.after.entity, change.after.number] = change.after
            else:
                self.lives.pop((change.life.entity, change.life.number), None)

    def enter_baseline(self, entities: Iterable[EntityId]) -> None:
        for entity in entities:
            of_it = [life for (known, _), life in self.lives.items() if known == entity]
            if any(life.ended is None and life.state is not State.UNCONFIRMED for life in of_it):
                continue
            decided = [life.number for life in of_it if life.state is not State.UNCONFIRMED]
            for life in of_it:
                if life.state is State.UNCONFIRMED:
                    del self.lives[entity, life.number]
            number = max(decided, default=0) + 1
            self.lives[entity, number] = Life(entity, number, None, BEGUN, State.KNOWN, reason="found by the baseline")


ENTITIES = [EntityId("dataset", ("n", name)) for name in "abc"]
SOME = st.builds(
    lambda entity, number, state, creator: Life(entity, number, creator, BEGUN, state),
    st.sampled_from(ENTITIES),
    st.integers(1, 3),
    st.sampled_from([State.PENDING, State.APPLIED, State.UNCONFIRMED, State.BLOCKED]),
    st.sampled_from(["alice", "bob"]),
)
CHANGE = st.one_of(SOME.map(lambda life: LedgerChange(None, life)), SOME.map(lambda life: LedgerChange(life, None)))
RECORD = st.lists(CHANGE, min_size=1, max_size=8)


def some_life(entity: EntityId, number: int = 1, creator: str = "alice", state: State = State.PENDING) -> Life:
    return Life(entity, number, creator, BEGUN, state)


TIDY, MAINTAIN = "tidy", "maintain"


WANTED: list[tuple[list[EntityId], list[State], list[str]]] = [
    (ENTITIES[:2], [State.PENDING, State.KNOWN], []),
    (ENTITIES[1:], [], ["alice"]),
]


def plain(lives: Iterable[Life]) -> dict[Key, Life]:
    """Lives without the inventory's own fields, which the model does not know."""
    return by_key(replace(life, begun=BEGUN, certain=0) for life in lives)


def agrees(ledger: DeltaLedger, model: Model) -> None:
    """Every way to read the lives returns those of the model."""
    pages = list(ledger.pages(list(State)))
    found = [life for page in pages for life in page]
    assert found == ledger.lives(list(State)) == sorted(found, key=lambda life: (str(life.entity), life.number))
    assert (plain(found), len(found)) == (model.lives, len(model.lives))
    entities_of_pages = [life.entity for page in pages for life in {each.entity: each for each in page}.values()]
    assert len(entities_of_pages) == len({entity for entity, _ in model.lives}), "those of an entity are on one page"
    some = (State.PENDING, State.UNCONFIRMED)
    assert plain(ledger.lives(some)) == {key: life for key, life in model.lives.items() if life.state in some}
    for entity in ENTITIES:
        assert plain(ledger.find_lives(entities=[entity])) == {
            key: life for key, life in model.lives.items() if key[0] == entity
        }
    for entities, states, creators in WANTED:
        assert plain(ledger.find_lives(entities=entities, states=states, creators=creators)) == {
            key: life
            for key, life in model.lives.items()
            if (not entities or key[0] in entities)
            and (not states or life.state in states)
            and (not creators or life.creator in creators)
        }
    groups = Counter({State.PENDING: 0})
    for group, size in ledger.grant_groups():
        groups[group.state] += size
    assert +groups == Counter(life.state for life in model.lives.values())


@pytest.fixture
def few_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files are put together as soon as there are two."""
    monkeypatch.setattr(delta_ledger, "_MOST_FILES", 1)
    monkeypatch.setattr(life_pages, "_LIVES_AT_A_TIME", 2)
    monkeypatch.setattr(life_pages, "SAMPLE", "SELECT entity FROM changes UNION SELECT entity FROM ledger ORDER BY 1")


STEP = st.one_of(RECORD, RECORD, st.sampled_from([TIDY, MAINTAIN]), st.sets(st.sampled_from(ENTITIES)))


@pytest.mark.slow
@given(steps=st.lists(STEP, max_size=8))
@example(steps=[set(ENTITIES), *([LedgerChange(some_life(entity), None)] for entity in ENTITIES[:2]), TIDY])
@example(steps=[[LedgerChange(some_life(ENTITIES[0]), None)], {ENTITIES[0]}])
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@pytest.mark.usefixtures("few_files")
def test_the_newest_change_counts(steps: list[Any]) -> None:
    with new_directory() as directory:
        model, ledger, reader = Model(), DeltaLedger(directory, "cdap"), DeltaLedger(directory, "cdap")
        for n, step in enumerate(steps):
            if step == TIDY:
                ledger.tidy()
                assert ledger._tables.file_count("changes") <= 1
            elif step == MAINTAIN:
                ledger.maintain(now=1_000_000, keep_days=1)
                assert list(ledger._tables.query("SELECT * FROM changes")) == []
            elif isinstance(step, set):
                ledger.enter_baseline(n, sorted(step))
                model.enter_baseline(sorted(step))
            else:
                ledger.record(step)
                model.record(step)
        agrees(reader, model)
        assert plain(DeltaLedger(directory, "cdap").lives(list(State))) == model.lives


class _ActsBetween(dict[str, Any]):
    """Tables between whose openings something happens."""

    def __init__(self, tables: dict[str, Any], act: Callable[[], None]) -> None:
        super().__init__(tables)
        self.act = act

    def items(self) -> Any:
        for item in super().items():
            yield item
            self.act()


def filled(ledger: DeltaLedger, model: Model) -> None:
    """Lives in `ledger`, newer ones of some of them in `changes`, dropped ones, and first ones."""
    a, b, c = ENTITIES
    for changes in (
        [LedgerChange(None, some_life(entity, number)) for entity in (a, b) for number in (1, 2)],
        [
            LedgerChange(None, some_life(a, creator="bob", state=State.APPLIED)),
            *(LedgerChange(some_life(entity, number), None) for entity, number in ((a, 2), (b, 1))),
        ],
        [LedgerChange(None, some_life(c, state=State.BLOCKED))],
    ):
        ledger.record(changes)
        model.record(changes)


def reads_between(directory: Path, act: Callable[[], None]) -> list[Life]:
    """Read the lives while something happens, once, between the openings of two tables: of each two in turn."""
    reader = DeltaLedger(directory, "cdap")
    reader._tables._tables = _ActsBetween(reader._tables._tables, act)
    return reader.lives(list(State))


@pytest.mark.usefixtures("few_files")
def test_a_reader_sees_each_life_once_while_files_are_put_together(tmp_path: Path) -> None:
    ledger, model = DeltaLedger(tmp_path, "cdap"), Model()
    filled(ledger, model)
    assert plain(reads_between(tmp_path, ledger.tidy)) == model.lives


def test_a_reader_sees_each_life_once_while_changes_are_moved(tmp_path: Path) -> None:
    ledger, model = DeltaLedger(tmp_path, "cdap"), Model()
    filled(ledger, model)
    assert plain(reads_between(tmp_path, lambda: ledger.maintain(now=1, keep_days=1))) == model.lives
    filled(ledger, model)
    begun = ledger._tables.query("SELECT * FROM changes")
    first = next(begun)
    ledger.maintain(now=1_000_000, keep_days=1)
    assert len([first, *begun]) == 8, "a query that has begun reads the versions that it began with"
    agrees(DeltaLedger(tmp_path, "cdap"), model)


# --- rows as Spark reads them -------------------------------------------------------------------------------------

NUMBER = st.integers(-(2**62), 2**62)
SHORT = st.text(max_size=6)
NEVER_NULL: dict[str, st.SearchStrategy[Any]] = {
    "type": st.just("dataset"),
    "parts": st.tuples(SHORT, SHORT).map(list),
    "number": st.integers(1, 9),
    "state": st.sampled_from([state.value for state in State]),
    "reason": SHORT,
    "begun": NUMBER,
    "begun_source": SHORT,
    "begun_id": SHORT,
    "policy_id": NUMBER,
    "policy_version": NUMBER,
    "source": SHORT,
    "id": SHORT,
    "kind": st.sampled_from([kind.value for kind in ChangeKind]),
    "user": SHORT,
    "time": NUMBER,
}
OF_A_FEW: dict[str, st.SearchStrategy[Any]] = {
    "stage": st.sampled_from([stage.value for stage in Stage]),
    "outcome": st.sampled_from([outcome.value for outcome in Outcome]),
    "terms": st.fixed_dictionaries(
        {"profile": SHORT, "delegate_admin": st.booleans(), "extra_group": SHORT, "plugins": SHORT}
    ),
}
NULL = ("namespace", "application", "creator", "ended", "ended_source", "ended_id", "versions", "terms")
OF_A_TYPE = {"string": SHORT, "int64": NUMBER, "int32": st.integers(1, 9), "bool": st.booleans()}


def rows_of(schema: Any) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Rows in which everything that may be null is, now and then."""

    def column(name: str, kind: Any) -> st.SearchStrategy[Any]:
        found = (NEVER_NULL | OF_A_FEW).get(name, OF_A_TYPE.get(str(kind), st.lists(SHORT, max_size=3)))
        return st.none() | found if schema is LIVES and name in NULL else found

    row = st.fixed_dictionaries({each.name: column(each.name, each.type) for each in schema})
    return st.lists(row.map(_whole), min_size=60, max_size=60)


def _whole(row: dict[str, Any]) -> dict[str, Any]:
    """What ends has ended by something."""
    if row.get("ended") is None or "ended_id" not in row:
        return row
    return row | {name: row[name] or "" for name in ("ended_source", "ended_id")}


@given(lives=rows_of(LIVES), events=rows_of(EVENTS))
@settings(max_examples=2, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_rows_are_read_as_they_were_written_wherever_they_were_moved(
    lives: list[dict[str, Any]], events: list[dict[str, Any]]
) -> None:
    with new_directory() as directory:
        tables = LedgerTables(directory)
        sliced = tuple(map(newest_lives, slices(sorted(row["entity"] for row in lives), 3)))
        written: list[tuple[str, Any, list[dict[str, Any]], Callable[[Row], Any], tuple[str, ...]]] = [
            ("ledger", LIVES, lives, life_of, sliced),
            ("events", EVENTS, events, event_of, (kept_events(-(2**63)),)),
        ]
        for name, schema, rows, read, moved in written:
            known = {str(n): row | {"instance": str(n)} for n, row in enumerate(rows)}
            tables.write(name, batches(schema, known.values()))
            for again in (False, True):
                if again:
                    tables.rewrite(name, *moved)
                found = [(row["instance"], read(row)) for row in tables.query(f"SELECT * FROM {name}")]
                assert sorted(found, key=itemgetter(0)) == [(one, read(known[one])) for one in sorted(known)]


# --- private, and whole or not at all -----------------------------------------------------------------------------


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o277], ids=oct)
@pytest.mark.usefixtures("few_files")
def test_every_file_is_private_and_the_umask_is_restored(
    tmp_path: Path, umask: Callable[[int], int], mask: int
) -> None:
    umask(mask)
    ledger, model = DeltaLedger(tmp_path / "ledger", "cdap"), Model()
    filled(ledger, model)
    ledger.enter_baseline(1, ENTITIES)
    ledger.add_events([EntityEvent(ENTITIES[0], ChangeKind.CREATE, Stage.REQUEST, "alice", 1, 2, "s", "1")])
    ledger.tidy()
    with suppress(SyncError):
        ledger._tables.query("SELECT nothing")
    assert umask(0o022) == mask
    found = [path for path in (tmp_path / "ledger").rglob("*") if path.is_file()]
    assert {path.suffix for path in found} >= {".parquet", ".json"}
    assert {path for path in found if stat.S_IMODE(path.stat().st_mode) & 0o077} == set()


def test_the_umask_is_restored_when_writing_fails(tmp_path: Path, umask: Callable[[int], int]) -> None:
    umask(0o027)
    ledger = DeltaLedger(tmp_path, "cdap")
    with full_disk(100), pytest.raises(SyncError):
        filled(ledger, Model())
    assert umask(0o022) == 0o027


def parquet_of(directory: Path) -> Path:
    return next(directory.rglob("*.parquet"))


def damage(directory: Path) -> None:
    path = parquet_of(directory)
    path.write_bytes(bytes(len(path.read_bytes())))


def truncate(directory: Path) -> None:
    path = parquet_of(directory)
    path.write_bytes(path.read_bytes()[:-9])


def delete_file(directory: Path) -> None:
    parquet_of(directory).unlink()


def delete_table(directory: Path) -> None:
    shutil.rmtree(directory)


def damage_log(directory: Path) -> None:
    newest = max((directory / "_delta_log").glob("*.json"))
    newest.with_name(f"{int(newest.stem) + 1:020}.json").write_bytes(b"{")


def lose_log(directory: Path) -> None:
    shutil.rmtree(directory / "_delta_log")


CONTENT_FAULTS = (damage, truncate, delete_file, damage_log)


def is_one_clear_line(error: SyncError, directory: Path) -> None:
    text = str(error)
    assert text.startswith(f"the ledger in `{directory}` cannot be used: ")
    assert "\n" not in text
    assert len(text) < 500
    assert len(text.partition("cannot be used: ")[2]) > 10


@pytest.mark.parametrize("fault", [*CONTENT_FAULTS, delete_table], ids=lambda fault: fault.__name__)
def test_a_table_damaged_while_it_is_open_is_one_error(tmp_path: Path, fault: Callable[[Path], None]) -> None:
    ledger = DeltaLedger(tmp_path, "cdap")
    filled(ledger, Model())
    fault(tmp_path / "changes")
    with pytest.raises(SyncError) as raised:
        ledger.lives(list(State))
    is_one_clear_line(raised.value, tmp_path.absolute())


@pytest.mark.parametrize("fault", CONTENT_FAULTS, ids=lambda fault: fault.__name__)
def test_a_table_damaged_before_it_is_opened_is_one_error(tmp_path: Path, fault: Callable[[Path], None]) -> None:
    filled(DeltaLedger(tmp_path, "cdap"), Model())
    fault(tmp_path / "changes")
    with pytest.raises(SyncError) as raised:
        DeltaLedger(tmp_path, "cdap").lives(list(State))
    is_one_clear_line(raised.value, tmp_path.absolute())


@pytest.mark.parametrize("name", ["changes", "ledger", "events"])
@pytest.mark.parametrize("fault", [delete_table, lose_log], ids=lambda fault: fault.__name__)
def test_a_lost_table_is_made_again_and_is_not_the_one_of_the_last_run(
    tmp_path: Path, name: str, fault: Callable[[Path], None]
) -> None:
    ledger = DeltaLedger(tmp_path, "cdap")
    filled(ledger, Model())
    note_versions(ledger)
    verify(DeltaLedger(tmp_path, "cdap"))
    fault(tmp_path / name)
    with pytest.raises(LedgerLost, match=f"table `{name}` of the ledger in .* is not the one of the last run"):
        verify(DeltaLedger(tmp_path, "cdap"))


def test_a_ledger_from_before_zones_has_its_lives_outside_of_them(tmp_path: Path) -> None:
    group = pa.field("extra_group", pa.string())
    terms = pa.struct([*(each for each in CHANGES.field("terms").type if each.name != "extra_group"), group])
    kept = [each for each in CHANGES if each.name not in ("zone", "moves", "terms")]
    before = pa.schema([*kept, pa.field("terms", terms)])
    old, new = (
        Life(EntityId("dataset", ("ns1", name)), 1, "alice", BEGUN, State.APPLIED, terms=GrantTerms("003"))
        for name in ("old", "new")
    )
    row = {**change_row("cdap", LedgerChange(None, old)), "sequence": 1}
    row["terms"] |= {"extra_group": "cdap_ns1"}
    del row["zone"], row["moves"]
    write_deltalake(tmp_path / "changes", pa.Table.from_pylist([row], schema=before))
    ledger = DeltaLedger(tmp_path, "cdap")
    ledger.record([LedgerChange(None, replace(new, zone="finance"))])
    assert DeltaLedger(tmp_path, "cdap").lives([State.APPLIED]) == [replace(new, zone="finance"), old]


@pytest.mark.parametrize("directories", ["new", "the same"])
def test_a_copy_put_in_place_of_an_open_ledger_is_noticed(tmp_path: Path, directories: str) -> None:
    """The copy is older, so it must stop the next run, even one of a process that has had the tables open."""
    state, copy = tmp_path / "state", tmp_path / "copy"
    ledger, model = DeltaLedger(state, "cdap"), Model()
    filled(ledger, model)
    shutil.copytree(state, copy, ignore=shutil.ignore_patterns("notes"))
    before = ledger.lives(list(State))
    ledger.record([LedgerChange(None, replace(life, reason="later")) for life in before])
    note_versions(ledger)
    for table in copy.iterdir():
        if directories == "new":
            shutil.rmtree(state / table.name)
        else:
            for path in [path for path in (state / table.name).rglob("*") if path.is_file()]:
                path.unlink()
    shutil.copytree(copy, state, dirs_exist_ok=True)
    with pytest.raises(LedgerLost, match=r"table `changes` of the ledger in .* is older than after the last run"):
        verify(ledger)
    assert ledger.lives(list(State)) == before


@pytest.mark.parametrize("name", TABLES)
def test_a_table_that_cannot_be_made_is_one_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a file")
    with pytest.raises(SyncError) as raised:
        DeltaLedger(tmp_path, "cdap")
    is_one_clear_line(raised.value, tmp_path.absolute())


def test_on_a_full_disk_all_of_a_change_counts_or_nothing(tmp_path: Path) -> None:
    ledger, model = DeltaLedger(tmp_path, "cdap"), Model()
    filled(ledger, model)
    many = [EntityId("dataset", ("n", f"d{n}")) for n in range(300)]
    written = [LedgerChange(None, some_life(each, creator=os.urandom(64).hex())) for each in many]
    failed = 0
    for most in (0, 1, 100, 1_000, 4_000, 8_000, 16_000, 30_000, 10_000_000):
        try:
            with full_disk(most):
                ledger.record(written)
        except SyncError as e:
            failed += 1
            is_one_clear_line(e, tmp_path.absolute())
        else:
            model.record(written)
        assert plain(DeltaLedger(tmp_path, "cdap").lives(list(State))) == model.lives
        assert plain(ledger.lives(list(State))) == model.lives
    assert 5 < failed < 9
    assert len(model.lives) > 300


AS_ANOTHER = """
import os, sys
from operator import itemgetter
from pathlib import Path
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.errors import LedgerLost, SyncError
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.event import Position
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import Life, State
import deltalake.exceptions
entity = EntityId("dataset", ("n", "z"))
os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
try:
    ledger = DeltaLedger(Path(sys.argv[1]), "cdap")
    print(len(ledger.lives(list(State))))
    ledger.record([LedgerChange(None, Life(entity, 1, "a", Position(1, False, "", ""), State.PENDING))])
except SyncError as e:
    print(e)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize("mode", [0o755, 0o700], ids=oct)
def test_a_directory_without_write_permission_is_one_error_and_stays_as_it_is(mode: int) -> None:
    with new_directory() as directory:
        directory.chmod(0o755)
        ledger, model = DeltaLedger(directory / "state", "cdap"), Model()
        filled(ledger, model)
        for path in (directory / "state").rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        (directory / "state").chmod(mode)
        before = ledger.marks()
        said = subprocess.run(
            [sys.executable, "-c", AS_ANOTHER, str(directory / "state"), str(NOBODY)],
            capture_output=True, text=True, check=True, cwd=ROOT,
        ).stdout.splitlines()  # fmt: skip
        *read, error = said
        assert read == (["3"] if mode == 0o755 else [])
        is_one_clear_line(SyncError(error), directory / "state")
        assert ledger.marks() == before
