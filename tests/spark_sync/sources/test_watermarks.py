"""The watermarks of decision services: what they let a run decide, and a time of a journal that is later than now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import SourceSettings, location
from ranger_cdap.wire.watermark import WATERMARK, Watermark, WatermarkFile
from spark_sync.ledger.event import ChangeKind, EntityEvent, Stage
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.sources.service_watermarks import PATIENCE, UNREADABLE, horizons, read, wait_past, watermark_file

NOW, HOLD_BACK, SKEW = 1_800_000_000_000, 120_000, 2_000
DAY = 86_400_000
JOURNAL = "0" * 31 + "a"


def source(name: str = "cdap", kind: str = "data-plane", path: str | None = "/events") -> SourceSettings:
    return SourceSettings(name=name, kind=kind, path=location(path) if path else None)


def mark(time: int, journal: str = JOURNAL, records: bool | None = True) -> Watermark:
    return Watermark(1, journal, time, records)


def test_what_the_decision_service_writes_is_read(tmp_path: Path) -> None:
    (tmp_path / ".incoming").mkdir()
    WatermarkFile(tmp_path, tmp_path / ".incoming").write(NOW, records=False)
    found = read([source(path=str(tmp_path)), source("audit", "audit", str(tmp_path)), source("none", path=None)])
    assert found.keys() == {"cdap"}
    assert (found["cdap"].watermark, found["cdap"].records) == (NOW, False)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"\xff",
        b'{"v":2,"service":"a","watermark":1,"records":null}',
        b'{"v":1,"service":"a","watermark":-1,"records":null}',
        b'{"v":1,"service":"a","watermark":"1","records":null}',
        b'{"v":1,"service":"a","records":null}',
        b'{"v":1,"service":"a","watermark":1,"records":null}' + b" " * 5000,
    ],
)
def test_a_watermark_that_cannot_be_read_is_one_of_an_unknown_journal_at_no_time(
    tmp_path: Path, content: bytes
) -> None:
    (tmp_path / WATERMARK).write_bytes(content)
    assert read([source(path=str(tmp_path))]) == {"cdap": UNREADABLE}


def test_a_service_without_a_watermark_has_no_journal(tmp_path: Path) -> None:
    assert read([source(path=str(tmp_path)), source("gone", path=str(tmp_path / "gone"))]) == {}


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("/events", "/events/.watermark"),
        ("/events/*.jsonl", "/events/.watermark"),
        ("/events/{a,b}", "/events/.watermark"),
        ("/*/events", None),
        ("/*/events/*.jsonl", None),
        ("hdfs://namenode/events", None),
        (None, None),
    ],
)
def test_where_the_watermark_of_a_source_is(path: str | None, file: str | None) -> None:
    assert watermark_file(source(path=path)) == (Path(file) if file else None)


FRESH, OLD = NOW - 500, NOW - HOLD_BACK - 1
HELD = NOW - HOLD_BACK


@pytest.mark.parametrize(
    ("marks", "decided", "silent"),
    [
        ({"a": FRESH}, {"a": FRESH}, ()),
        ({"a": FRESH, "b": FRESH - 10}, {"a": FRESH - 10 - SKEW, "b": FRESH - SKEW}, ()),
        ({"a": FRESH, "b": FRESH - 5_000}, {"a": FRESH - 5_000 - SKEW, "b": FRESH - 5_000}, ()),
        ({"a": OLD}, {"a": OLD}, ("a",)),
        ({"a": FRESH, "b": OLD}, {"a": FRESH - HOLD_BACK, "b": OLD}, ("b",)),
        ({"a": FRESH, "b": None}, {"a": FRESH - HOLD_BACK}, ("b",)),
        ({"a": FRESH, "b": 0}, {"a": FRESH - HOLD_BACK, "b": HELD - SKEW}, ("b",)),
        ({"a": None}, {}, ("a",)),
        ({}, {}, ()),
    ],
    ids=[
        "its own watermark",
        "others less the skew",
        "the oldest of all",
        "the hold-back where it is silent",
        "the hold-back where another one is silent",
        "the hold-back where another one has no watermark",
        "the hold-back where another one cannot be read",
        "nothing without a watermark",
        "no decision service",
    ],
)
def test_how_far_a_run_decides(marks: dict[str, int | None], decided: dict[str, int], silent: tuple[str, ...]) -> None:
    sources = [*(source(name) for name in marks), source("audit", "audit")]
    known = {name: mark(time) for name, time in marks.items() if time is not None}
    found = horizons(sources, known, now=NOW, hold_back=HOLD_BACK, skew=SKEW)
    assert (found.horizons, found.silent) == (decided, silent)
    assert found.journals == {name: time for name, time in marks.items() if time is not None}


@pytest.mark.parametrize(
    ("time", "over"),
    [(NOW - 500, NOW - 500 - HOLD_BACK), (NOW + 300_000, NOW + 300_000 - HOLD_BACK), (OLD, NOW - SKEW - HOLD_BACK)],
    ids=["by its own clock", "also one that is ahead", "by ours, less the skew, where it is silent"],
)
def test_when_the_hold_back_of_a_record_is_over(time: int, over: int) -> None:
    found = horizons([source("a")], {"a": mark(time)}, now=NOW, hold_back=HOLD_BACK, skew=SKEW)
    assert found.held == {"a": over}
    assert found.until == HELD


@pytest.mark.parametrize(
    ("kinds", "named"),
    [
        (["data-plane"], False),
        (["data-plane", "audit", "audit-kafka", "audit-messaging"], False),
        (["data-plane", "http-access"], True),
        (["data-plane", "of a plugin"], True),
    ],
)
def test_which_sources_may_name_the_sender_of_a_request_of_the_master_user(kinds: list[str], named: bool) -> None:
    """Messages and records name the user of the check; of a plugin's source nothing is known."""
    found = horizons((source(kind, kind) for kind in kinds), {}, now=NOW, hold_back=HOLD_BACK, skew=SKEW)
    assert found.named_elsewhere is named


@given(st.dictionaries(st.sampled_from("abc"), st.one_of(st.none(), st.integers(0, 2 * NOW)), min_size=1))
def test_nothing_is_decided_before_it_is_known_or_later_than_the_hold_back(marks: dict[str, int | None]) -> None:
    known = {name: mark(time) for name, time in marks.items() if time is not None}
    found = horizons(map(source, marks), known, now=NOW, hold_back=HOLD_BACK, skew=SKEW)
    assert found.horizons.keys() == known.keys()
    for name, horizon in found.horizons.items():
        over = found.held[name]
        assert over >= HELD - SKEW - HOLD_BACK
        assert horizon >= over
        for other, time in marks.items():
            assert horizon <= max((time or 0) - (0 if other == name else SKEW), over)


@dataclass(frozen=True)
class Service:
    """A decision service whose clock was perhaps ahead once; what it stamps never goes back. All times are true ones.

    `published`: when it last wrote its watermark, `received`: when it received an event, `cdap`: the offset of the
    clock of CDAP that the event has.
    """

    offset: int
    cdap: int
    since: int
    until: int
    by: int
    published: int
    received: int

    def stamp(self, at: int) -> int:
        return at + self.offset if at < self.since else max(at, min(at, self.until) + self.by) + self.offset

    def event(self, name: str) -> EntityEvent:
        ended, namespace = self.received + self.cdap, EntityId("namespace", ("n",))
        return EntityEvent(
            namespace, ChangeKind.CREATE, Stage.REQUEST, "alice", ended - 5, ended, name, "1",
            received=self.stamp(self.received),
        )  # fmt: skip


_TIME = st.integers(NOW - 4 * HOLD_BACK, NOW) | st.integers(NOW - 5_000, NOW)
_OFFSET = st.integers(-SKEW // 2, SKEW // 2)
_SERVICE = st.builds(Service, _OFFSET, _OFFSET, _TIME, _TIME, st.sampled_from([0, DAY, 365 * DAY]), _TIME, _TIME)


@given(st.lists(_SERVICE, min_size=1, max_size=3))
@example([Service(0, 0, NOW - 9_000, NOW - 8_000, DAY, NOW - 5_000, NOW), Service(0, 0, NOW, NOW, 0, NOW, NOW - 500)])
@example([Service(0, 0, NOW - 4 * HOLD_BACK, NOW - 3 * HOLD_BACK, 365 * DAY, NOW, NOW - 3 * HOLD_BACK)])
@example(
    [
        Service(0, 0, NOW, NOW, 0, NOW - 4 * HOLD_BACK, NOW),
        Service(0, 0, NOW, NOW, 0, NOW - HOLD_BACK, NOW - 2 * HOLD_BACK),
    ]
)
def test_a_clock_that_was_far_ahead_decides_nothing_early_and_holds_nothing_back(services: list[Service]) -> None:
    """All that could contradict a decided event is published, or the hold-back is over; and then it is decided."""
    marks = {str(n): mark(each.stamp(each.published)) for n, each in enumerate(services)}
    found = horizons(map(source, marks), marks, now=NOW, hold_back=HOLD_BACK, skew=SKEW)
    settings = FoldSettings(skew=SKEW, horizons=found.horizons, held=found.held, until=found.until, latest=found.latest)
    for name, service in zip(marks, services, strict=True):
        event, received = service.event(name), service.received
        is_over = received <= NOW - HOLD_BACK + SKEW
        if settings.is_settled(event):
            assert is_over or all(other.published >= received for other in services)
        else:
            # The hold-back is counted by the service's own watermark, unless it is silent.
            known = NOW if name in found.silent else service.published
            assert received >= known - HOLD_BACK - 2 * SKEW
        if settings.is_held_back(event):
            assert received >= NOW - 2 * HOLD_BACK - 3 * SKEW
        else:
            assert is_over
        assert found.journals[name] <= NOW + SKEW
    assert {str(n) for n, each in enumerate(services) if each.by and each.published >= each.since} == {*found.ahead}
    assert {*found.ahead} <= {*found.silent}


class Journal:
    """A decision service whose watermark is what it is at each reading, the last one for good, and a clock."""

    def __init__(self, *marks: Watermark | None) -> None:
        self.marks = list(marks)
        self.time = 0.0

    def read(self) -> Watermark | None:
        return self.marks.pop(0) if len(self.marks) > 1 else self.marks[0]

    def sleep(self, seconds: float) -> None:
        self.time += seconds

    def wait(self) -> int | None:
        return wait_past(self.read, journal=JOURNAL, clock=lambda: self.time, sleep=self.sleep)


@pytest.mark.parametrize(
    ("marks", "time"),
    [
        ([mark(10), mark(10), mark(20), mark(20), mark(30)], 30),
        ([mark(10), mark(20), mark(30)], 30),
        ([mark(10), mark(20)], None),
        ([mark(10)], None),
        ([mark(10), mark(20), mark(15)], None),
        ([None], None),
        ([UNREADABLE], None),
        ([mark(10), mark(20), None], None),
        ([mark(10), mark(20), UNREADABLE, mark(30)], None),
        ([mark(10), mark(20), mark(30, "b" * 32)], None),
        ([mark(10, "b" * 32), mark(20, "b" * 32), mark(30, "b" * 32)], None),
    ],
    ids=[
        "renewed twice",
        "renewed at each reading",
        "renewed once: perhaps made before",
        "not renewed",
        "set back",
        "none",
        "unreadable",
        "gone meanwhile",
        "unreadable meanwhile",
        "replaced meanwhile",
        "another journal",
    ],
)
def test_a_time_of_the_journal_after_now(marks: list[Watermark | None], time: int | None) -> None:
    journal = Journal(*marks)
    assert journal.wait() == time
    assert journal.time <= PATIENCE + 0.2


@given(st.lists(st.floats(0.05, 2.0), min_size=60, max_size=60), st.floats(0.0, 0.9), st.floats(0.0, 3.0))
def test_a_time_that_is_found_is_later_than_the_question(pauses: list[float], delay: float, begun: float) -> None:
    """A watermark is published a moment after it was made, the next is made only then."""
    published: list[tuple[float, int]] = [(0.0, 0)]
    for pause in pauses:
        made = published[-1][0] + pause
        published.append((made + delay, round(made * 1000)))
    time = begun

    def read_now() -> Watermark:
        return mark(max(value for at, value in published if at <= time))

    def sleep(seconds: float) -> None:
        nonlocal time
        time += seconds

    clock: Callable[[], float] = lambda: time  # noqa: E731
    found = wait_past(read_now, journal=JOURNAL, clock=clock, sleep=sleep)
    assert found is None or found >= round(begun * 1000)
