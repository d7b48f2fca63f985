"""A round of questions to CDAP: what is asked about and when, how its answers are dated, and when they do not count."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
import responses
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId, parse_entity
from ranger_cdap.config import CdapSettings, ConfirmSettings, Secret, Settings, SourceSettings, SyncSettings
from ranger_cdap.errors import ConfigError
from ranger_cdap.wire.watermark import WATERMARK, Watermark
from spark_sync.ledger.event import ChangeKind, EntityEvent, Position, Stage
from spark_sync.ledger.ledger_tables import LedgerTables
from spark_sync.ledger.life import Life, State
from spark_sync.ledger.notes import Notes
from spark_sync.reconcile.confirmation import SOURCE, CdapAnswer
from spark_sync.reconcile.confirmation_round import (
    FIRST_PAUSE,
    LONGEST_PAUSE,
    LastQuestion,
    confirm_round,
    due,
    recorded_questions,
)
from spark_sync.sources import service_watermarks
from tests.net.scripted_server import answering

NOW = 1_800_000_000_000
KV, SHOP = parse_entity("dataset:ns1.kv"), parse_entity("application:ns1.shop")
JOURNAL = "a" * 32


def life(entity: EntityId = KV, state: State = State.CONTESTED, begun: int = 100, **fields: Any) -> Life:
    return Life(entity, 1, None, Position(begun, False, "s", "e"), state, **fields)


def named(number: int) -> EntityId:
    return parse_entity(f"dataset:ns1.kv{number}")


@pytest.mark.parametrize("state", State)
def test_only_what_depends_on_existence_is_asked_about(state: State) -> None:
    asked = due([life(state=state)], {}, NOW)
    assert asked == ([KV] if state in (State.UNCONFIRMED, State.CONTESTED, State.SUSPENDED) else [])


def test_what_cdap_cannot_be_asked_about_takes_no_turn() -> None:
    assert due([life(parse_entity("stream:ns1.clicks"))], {}, NOW) == []


def test_the_oldest_come_first_and_the_rest_in_the_next_rounds() -> None:
    lives = [life(named(n), begun=1000 - n) for n in range(25)]
    asked: dict[str, LastQuestion] = {}
    rounds = []
    for number in range(3):
        entities = due(lives, asked, NOW + number, most=10)
        rounds.append(entities)
        asked = recorded_questions(lives, asked, entities, NOW + number)
    assert [len(entities) for entities in rounds] == [10, 10, 5]
    assert [entity for entities in rounds for entity in entities] == [named(n) for n in reversed(range(25))]


def test_the_same_doubt_is_asked_about_at_growing_intervals_a_new_one_at_once() -> None:
    doubt = life(reason="overlaps")
    asked: dict[str, LastQuestion] = {}
    times: list[int] = []
    now = NOW
    while len(times) < 12:
        if due([doubt], asked, now):
            asked = recorded_questions([doubt], asked, [KV], now)
            times.append(now)
        now += 1000
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses[:3] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE == max(pauses)
    for other in (replace(doubt, state=State.SUSPENDED), replace(doubt, reason="x"), replace(doubt, number=2)):
        assert due([doubt], asked, times[-1] + 1) == []
        assert due([other], asked, times[-1] + 1) == [KV]
        assert recorded_questions([other], asked, [KV], now)[str(KV)].times == 1


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 10**7)), max_size=40), st.integers(1, 5))
def test_everything_in_doubt_has_its_turn(steps: list[tuple[int, int]], most: int) -> None:
    """However many are in doubt, and whatever else comes: none waits longer than the others take."""
    lives = [life(named(n), begun=n) for n in range(12)]
    asked: dict[str, LastQuestion] = {}
    now = NOW
    for _, pause in steps:
        asked = recorded_questions(lives, asked, due(lives, asked, now, most), now)
        now += pause
    seen: set[EntityId] = set()
    for _ in range(12):
        now += 2 * LONGEST_PAUSE
        entities = due(lives, asked, now, most)
        seen.update(entities)
        asked = recorded_questions(lives, asked, entities, now)
    assert seen == {each.entity for each in lives}


def test_what_is_no_longer_in_doubt_is_forgotten() -> None:
    asked = recorded_questions([life(), life(SHOP)], {}, [KV, SHOP], NOW)
    assert recorded_questions([life(SHOP)], asked, [], NOW + 1).keys() == {str(SHOP)}


class Journal:
    """A decision service that renews its watermark while somebody sleeps."""

    def __init__(self, directory: Path, every: float = 0.5, at: int = NOW) -> None:
        self.file = directory / WATERMARK
        self.every, self.at, self.time = every, at, 0.0
        self.journal = JOURNAL
        self.write()

    def write(self, at: int | None = None) -> None:
        watermark = {"v": 1, "service": self.journal, "watermark": at or self.at, "records": True}
        self.file.write_text(json.dumps(watermark))

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        if self.every and self.time // self.every > (self.time - seconds) // self.every:
            self.at += 1000
            self.write()

    def clock(self) -> float:
        return self.time


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "events").mkdir()
    (tmp_path / "state").mkdir()
    confirm = ConfirmSettings(url="https://cdap.example:11015", user="reader", caller="sync", secret=Secret("s" * 16))
    source = SourceSettings(name="cdap", kind="data-plane", path=tmp_path / "events")
    return Settings(
        cdap=CdapSettings(instance="cdap"),
        sync=SyncSettings(state_dir=tmp_path / "state", sources=(source,), confirm=confirm),
    )


@pytest.fixture
def journal(tmp_path: Path, settings: Settings) -> Journal:
    return Journal(tmp_path / "events")


def exist(entities: Sequence[EntityId]) -> dict[EntityId, CdapAnswer]:
    return dict.fromkeys(entities, CdapAnswer(True, "alice", 50))


def notes(settings: Settings) -> Notes:
    return Notes(LedgerTables(settings.sync.state_dir), "cdap")


def confirmed(settings: Settings, journal: Journal, lives: Sequence[Life], look: Any = exist) -> list[EntityEvent]:
    known = service_watermarks.read(settings.sync.sources)
    return confirm_round(
        settings, notes(settings), lives, known, now=NOW, look=look, clock=journal.clock, sleep=journal.sleep
    )


def test_the_answers_are_dated_by_the_journal_before_and_after(settings: Settings, journal: Journal) -> None:
    (event,) = confirmed(settings, journal, [life()])
    assert (event.entity, event.kind, event.stage, event.source) == (KV, ChangeKind.CREATE, Stage.ANSWER, SOURCE)
    assert (event.clock, event.started, event.ended) == ("cdap", NOW, NOW + 2000)
    assert (event.user, event.requested) == ("alice", 50)


def test_what_is_gone_is_a_deletion(settings: Settings, journal: Journal) -> None:
    (event,) = confirmed(settings, journal, [life()], lambda entities: dict.fromkeys(entities, CdapAnswer(False)))
    assert (event.kind, event.stage, event.user) == (ChangeKind.DELETE, Stage.ANSWER, "")


def test_what_was_asked_is_not_asked_again_at_once(settings: Settings, journal: Journal) -> None:
    assert confirmed(settings, journal, [life()])
    assert confirmed(settings, journal, [life()]) == []
    assert confirmed(settings, journal, [life(), life(SHOP)])[0].entity == SHOP


def never(_: object) -> dict[EntityId, CdapAnswer]:
    raise AssertionError("CDAP is asked")


def test_without_an_address_nothing_is_asked(settings: Settings, journal: Journal) -> None:
    off = Settings(sync=SyncSettings(state_dir=settings.sync.state_dir, sources=settings.sync.sources))
    assert confirmed(off, journal, [life()], never) == []


@pytest.mark.parametrize(
    "change",
    [
        lambda journal: journal.file.unlink(),
        lambda journal: journal.file.write_text("{"),
        lambda journal: journal.write(NOW - 121_000),
    ],
    ids=["no watermark", "unreadable", "silent"],
)
def test_without_the_time_of_a_journal_nothing_is_asked(settings: Settings, journal: Journal, change: Any) -> None:
    change(journal)
    assert confirmed(settings, journal, [life()], never) == []


def test_a_journal_that_was_replaced_since_the_run_began_dates_nothing(settings: Settings, journal: Journal) -> None:
    known = {"cdap": Watermark(1, "b" * 32, NOW, True)}
    times: Any = {"now": NOW, "clock": journal.clock, "sleep": journal.sleep}
    found = confirm_round(settings, notes(settings), [life()], known, look=never, **times)
    assert found == []


def falls_silent(journal: Journal) -> None:
    journal.every = 0


def is_replaced(journal: Journal) -> None:
    journal.journal = "b" * 32
    journal.write()


@pytest.mark.parametrize("change", [falls_silent, is_replaced])
def test_answers_without_a_later_time_are_discarded_and_asked_for_again(
    settings: Settings, journal: Journal, change: Any
) -> None:
    def look(entities: Sequence[EntityId]) -> dict[EntityId, CdapAnswer]:
        change(journal)
        return exist(entities)

    assert confirmed(settings, journal, [life()], look) == []
    journal.every, journal.journal = 0.5, JOURNAL
    journal.write()
    assert len(confirmed(settings, journal, [life()])) == 1


def test_over_http_with_the_decision_service(settings: Settings, journal: Journal) -> None:
    """Both answers that prove something, one of them only because the decision service says so."""
    cdap = "https://cdap.example:11015/v3/namespaces"
    gone = parse_entity("dataset:ns1.gone")
    allowed = {"evaluations": [{"decision": True}, {"decision": True}]}
    with responses.RequestsMock() as mock, answering(json.dumps(allowed).encode()) as url:
        mock.get(f"{cdap}/default", json={"name": "default"})
        mock.get(f"{cdap}/ns1/data/datasets/kv", json={"spec": {"name": "kv"}})
        mock.get(f"{cdap}/ns1/data/datasets/gone", status=404)
        confirm = msgspec.structs.replace(settings.sync.confirm, decision_service=url)
        settings = msgspec.structs.replace(settings, sync=msgspec.structs.replace(settings.sync, confirm=confirm))
        found = confirmed(settings, journal, [life(), life(gone, State.SUSPENDED)], None)
    assert {(event.entity, event.kind) for event in found} == {(KV, ChangeKind.CREATE), (gone, ChangeKind.DELETE)}


def test_a_token_that_cannot_be_read_is_an_error_of_the_settings(settings: Settings, journal: Journal) -> None:
    confirm = ConfirmSettings(
        url="https://cdap.example", user="r", caller="c", secret=Secret("s"), token_file=Path("nowhere")
    )
    sync = SyncSettings(state_dir=settings.sync.state_dir, sources=settings.sync.sources, confirm=confirm)
    with pytest.raises(ConfigError, match="nowhere"):
        confirmed(Settings(sync=sync), journal, [life()], None)
