"""When a creation is decided, and what it waits for, by the configured sources, the watermarks and the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.config import SourceSettings, SyncSettings
from ranger_cdap.wire.record_events import UNFINISHED_AFTER
from ranger_cdap.wire.watermark import Watermark
from spark_sync.ledger.fold import fold
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.life import Life, State
from spark_sync.plugin import ranger_cdap_event_sources
from spark_sync.sources.service_watermarks import horizons
from tests.spark_sync.ledger.evidence import DATASET, JOURNAL, events

STORED = 1_000_000
"""When the decision service stores the record of the creation, in milliseconds; it arrives at CDAP a second before."""
SECOND = 1_000
HOLD_BACK = round(SyncSettings().hold_back * 1000)
SKEW = round(SyncSettings().clock_skew * 1000)
UNFINISHED = round(UNFINISHED_AFTER * 1000)
LAG = 500
"""How far a watermark is behind."""
LONG = HOLD_BACK + LAG + 30 * SECOND
"""So long is watched: longer than any source is waited for."""

NEVER, GRANTED, NO_CREATOR = None, ("alice", State.PENDING), (None, State.KNOWN)

ALICE = "alice+ 999000-999900 at 1000000"
MASTER = "root+ 999000-999900 at 1000000"
LINE = "router:alice+ 999000"
BOB_UNFINISHED = "bob+ 999500-"

Waits = int | None


@dataclass(frozen=True)
class Case:
    """A creation, and how many milliseconds after its record it is decided, and as what.

    `marks`: by how much the watermark of each decision service is behind, `None` without one; `later`: what comes after
    the record, by the milliseconds since.
    """

    waits: Waits
    sources: tuple[str, ...] = ("data-plane",)
    marks: Mapping[str, int | None] = field(default_factory=lambda: {JOURNAL: LAG})
    evidence: tuple[str, ...] = (ALICE,)
    later: Mapping[int, str] = field(default_factory=dict)
    becomes: tuple[str | None, State] = GRANTED
    edge_rank: int | None = None
    uncorroborated: Literal["hold", "grant"] = "hold"


TWO = ("data-plane", "second")
WITH_LOG = ("data-plane", "http-access")
WITH_EDGE = (*WITH_LOG, "of a plugin")

CASES: dict[str, Case] = {
    # Corroborated, and its check names the user: no line of another source can name another one.
    "data-plane alone": Case(LAG),
    "data-plane and audit": Case(LAG, ("data-plane", "audit")),
    "data-plane and audit-kafka": Case(LAG, ("data-plane", "audit-kafka")),
    "data-plane and audit-messaging": Case(LAG, ("data-plane", "audit-messaging")),
    "data-plane and http-access": Case(LAG, WITH_LOG),
    "data-plane and http-access, whose line has come": Case(LAG, WITH_LOG, evidence=(ALICE, LINE)),
    "data-plane and a source of a plugin": Case(LAG, ("data-plane", "of a plugin")),
    "a watermark that is far behind": Case(30 * SECOND, marks={JOURNAL: 30 * SECOND}),
    # Another decision service may have journalled a check that contradicts it.
    "two services": Case(LAG + SKEW, TWO, {JOURNAL: LAG, "second": LAG}),
    "two services, the other one far behind": Case(30 * SECOND + SKEW, TWO, {JOURNAL: LAG, "second": 30 * SECOND}),
    "two services, the other one silent": Case(HOLD_BACK, TWO, {JOURNAL: LAG, "second": LONG + HOLD_BACK}),
    "two services, the other one without a watermark": Case(HOLD_BACK, TWO, {JOURNAL: LAG, "second": None}),
    "a silent service": Case(HOLD_BACK + SKEW, marks={JOURNAL: LONG + HOLD_BACK}),
    # A request of another user that is not over.
    "another user's check without a record": Case(NEVER, evidence=(ALICE, BOB_UNFINISHED)),
    "another user's request that then fails": Case(
        30 * SECOND, evidence=(ALICE, BOB_UNFINISHED), later={30 * SECOND: "bob+ 999500-1029000 !404"}
    ),
    "a further check of the same user without a record": Case(LAG, evidence=(ALICE, "alice+ 999500-")),
    "another user's check that came after the end": Case(LAG, evidence=(ALICE, "bob+ 999950-")),
    # Run as the master user: a line names the sender, and one that is there may be of a later request.
    "the master user, data-plane alone": Case(LAG, evidence=(MASTER,), becomes=NO_CREATOR),
    "the master user, and audit": Case(LAG, ("data-plane", "audit"), evidence=(MASTER,), becomes=NO_CREATOR),
    "the master user, and no line": Case(HOLD_BACK + LAG, WITH_LOG, evidence=(MASTER,), becomes=NO_CREATOR),
    "the master user, and a line": Case(HOLD_BACK + LAG, WITH_LOG, evidence=(MASTER, LINE)),
    "the master user, and a line that comes later": Case(
        HOLD_BACK + LAG, WITH_LOG, evidence=(MASTER,), later={20 * SECOND: LINE}
    ),
    "the master user, and a line of the lower rank": Case(
        HOLD_BACK + LAG, WITH_EDGE, evidence=(MASTER, LINE), edge_rank=40
    ),
    "the master user, and a line of the higher rank": Case(
        HOLD_BACK + LAG, WITH_EDGE, evidence=(MASTER, LINE), edge_rank=20
    ),
    "the master user, and a line that may be of a request without a record": Case(
        NEVER, WITH_LOG, evidence=(MASTER, LINE, "alice+ 998800-")
    ),
    # Not corroborated: other requests may have no check either, and are known by their records only.
    "a record without a check, held": Case(NEVER, evidence=("alice~+ 999000-999900 at 1000000",)),
    "a record without a check, granted": Case(
        HOLD_BACK + LAG, evidence=("alice~+ 999000-999900 at 1000000",), uncorroborated="grant"
    ),
    "a line without a service, granted": Case(
        HOLD_BACK - SECOND, ("http-access",), {}, (LINE,), uncorroborated="grant"
    ),
    "a message of CDAP without a service": Case(HOLD_BACK - SECOND, ("audit",), {}, ("audit:alice+ 999000",)),
}


@pytest.mark.parametrize("name", CASES)
def test_when_a_creation_is_decided(name: str) -> None:
    case = CASES[name]
    decided = next(((at, life) for at, life in _runs(case) if _is_decided(life)), None)
    if case.waits is NEVER:
        assert decided is None
        return
    assert decided is not None
    at, life = decided
    assert (at, (life.creator, life.state)) == (pytest.approx(case.waits, abs=SECOND), case.becomes)
    assert at >= case.waits


def _runs(case: Case) -> Iterator[tuple[int, Life]]:
    """Return what a run each second would decide of what has come, each without those before."""
    for after in range(0, LONG, SECOND):
        texts = list(case.evidence)
        for since, text in case.later.items():
            if since <= after:
                # The same request: its record.
                texts = [text if text.startswith(known.partition("-")[0]) else known for known in texts]
                texts += [text] if text not in texts else []
        yield from ((after, life) for life in fold(DATASET, events(texts), (), _settings(case, STORED + after)))


def _settings(case: Case, now: int) -> FoldSettings:
    kinds = {"second": "data-plane", "of a plugin": "edge"}
    names = {"data-plane": JOURNAL, "http-access": "router", "audit": "audit"}
    ranks = {kind: source.rank for kind, source in ranger_cdap_event_sources().items()} | {"edge": case.edge_rank or 0}
    sources = [SourceSettings(name=names.get(each, each), kind=kinds.get(each, each)) for each in case.sources]
    marks = {name: Watermark(1, name, now - behind, True) for name, behind in case.marks.items() if behind is not None}
    known = horizons(sources, marks, now=now, hold_back=HOLD_BACK, skew=SKEW)
    return FoldSettings(
        baseline=1,
        gives={"dataset": ("read",)},
        non_creators=frozenset({"root"}),
        ranks={source.name: ranks[source.kind] for source in sources},
        skew=SKEW,
        unfinished_after=UNFINISHED,
        journals=known.journals,
        horizons=known.horizons,
        held=known.held,
        until=known.until,
        named_elsewhere=known.named_elsewhere,
        uncorroborated=case.uncorroborated == "grant",
    )


def _is_decided(life: Life) -> bool:
    return life.state not in (State.CONTESTED, State.UNCONFIRMED)


LATE: dict[str, tuple[str, State]] = {
    "a request of another user that overlapped": ("bob+ 999500-999950 at 1000300", State.CONTESTED),
    "one without a record": ("bob+ 999500-", State.CONTESTED),
    "a line of another user that fits no request": ("router:bob+ 999000 !201", State.CONTESTED),
    "a message of CDAP about an earlier creation": ("audit:bob+ 900000", State.CONTESTED),
    "a rejected line": ("rejected:?+ 999500-999600", State.CONTESTED),
    "a deletion that overlapped": ("bob- 999500-999950 at 1000300", State.CONTESTED),
    "one that only a line reports": ("router:bob- 999500", State.CONTESTED),
    "CDAP's own deletion, by its message": ("audit:root- 999500", State.CONTESTED),
    "CDAP's own deletion, certainly after the creation": ("audit:root- 1010000", State.SUSPENDED),
    "a deletion of the namespace that overlapped": ("bob- 999500-999950 ns at 1000300", State.CONTESTED),
    "a deletion of the namespace whose end is lost": ("bob- 1000100- ns", State.SUSPENDED),
}


@pytest.mark.parametrize("name", LATE)
@pytest.mark.parametrize("number", [1, 2], ids=["the first life", "a later life"])
def test_what_comes_after_the_decision_revokes_and_moves_nothing(name: str, number: int) -> None:
    """Whatever comes late: the grant goes, its owner stays known, and no one else becomes the owner."""
    late, state = LATE[name]
    before = ["carol+ 500000-500100", "carol- 600000-600100"] if number > 1 else []
    early = _settings(Case(LAG, WITH_LOG), STORED + SECOND)
    decided = fold(DATASET, events([*before, ALICE]), (), early)
    assert (decided[-1].creator, decided[-1].state, decided[-1].number) == (*GRANTED, number)

    applied = [*decided[:-1], replace(decided[-1], state=State.APPLIED, policy_id=7)]
    after = _settings(Case(LAG, WITH_LOG), STORED + 2 * UNFINISHED)
    life = fold(DATASET, events([*before, ALICE, late]), applied, after)[-1]

    assert (life.number, life.state, life.revoke, life.policy_id) == (number, state, True, 7)
    assert life.holder == "alice"
    assert life.creator in ("alice", None)


def test_a_line_of_lower_rank_names_no_one_where_a_higher_one_saw_the_request() -> None:
    """The line of rank 40 may be of alice's own request, and then no line names the sender of the other one."""
    (edge,) = events(["router:alice+ 999000"])
    (pool,) = events(["router:mallory+ 999000"])
    seen = [*events([MASTER, "alice+ 999000-999950 at 1000000"]), replace(edge, source="of a plugin"), pool]
    settings = _settings(Case(LAG, WITH_EDGE, edge_rank=40), STORED + LONG)
    (life,) = fold(DATASET, seen, (), settings)
    assert (life.state, life.candidates) == (State.CONTESTED, ("alice",))


def test_a_line_of_higher_rank_that_comes_after_the_hold_back_contests() -> None:
    (line, late) = events(["router:alice+ 999000", "router:bob+ 999000"])
    case = Case(LAG, WITH_EDGE, edge_rank=40)
    (held,) = fold(DATASET, [*events([MASTER]), line], (), _settings(case, STORED + LONG))
    assert (held.creator, held.state) == GRANTED

    seen = [*events([MASTER]), line, replace(late, source="of a plugin")]
    (life,) = fold(DATASET, seen, [replace(held, state=State.APPLIED)], _settings(case, STORED + 2 * LONG))
    assert (life.state, life.creator, life.former, life.revoke) == (State.CONTESTED, None, "alice", True)


_BEHIND = st.one_of(st.none(), st.integers(-2 * HOLD_BACK, 2 * HOLD_BACK))


@given(st.dictionaries(st.sampled_from("abc"), _BEHIND, min_size=1), st.sampled_from("abc"), _BEHIND)
def test_no_further_source_lets_anything_be_decided_earlier(
    behind: dict[str, int | None], further: str, its: int | None
) -> None:
    def of(marks: dict[str, int | None]) -> tuple[Mapping[str, int], Mapping[str, int]]:
        sources = [SourceSettings(name=name, kind="data-plane") for name in marks]
        known = {name: Watermark(1, name, STORED - lag, True) for name, lag in marks.items() if lag is not None}
        found = horizons(sources, known, now=STORED, hold_back=HOLD_BACK, skew=SKEW)
        return found.horizons, found.held

    alone, held = of({name: lag for name, lag in behind.items() if name != further})
    together, held_together = of({**behind, further: its})
    assert all(together[name] <= horizon for name, horizon in alone.items())
    assert all(held_together[name] == time for name, time in held.items())
