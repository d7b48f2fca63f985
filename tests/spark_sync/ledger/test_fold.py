"""The fold: whose a life is, clause by clause; the simulation (tests/simulation) hunts for what no clause names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.engine import EngineOptions
from ranger_cdap.engine.compiled.names import CONF, HANDLER, name_transformation
from ranger_cdap.errors import SyncError
from spark_sync.ledger.event import ChangeKind, EntityEvent, Outcome, Position, Stage
from spark_sync.ledger.fold import fold, known_life, refold
from spark_sync.ledger.fold_settings import FoldSettings
from spark_sync.ledger.ledger import History, LedgerChange
from spark_sync.ledger.life import MANUAL, RECONCILED, TRANSITIONS, Life, State
from spark_sync.ledger.matching import concerns
from tests.spark_sync.ledger.evidence import APPLICATION, ARTIFACT, DATASET, JOURNAL, SCHEDULE, events

ALL = ("read", "write", "admin", "execute")
GIVES = {"namespace": ALL, "dataset": ALL, "application": ALL, "artifact": ALL, "schedule": ("admin",)}
LATER = 10_000
JOURNALLED = FoldSettings(
    baseline=100,
    gives=GIVES,
    non_creators=frozenset({"root"}),
    ranks={"audit": 10, JOURNAL: 20, "router": 30},
    skew=2,
    unfinished_after=600,
    journals={JOURNAL: LATER},
    horizons={JOURNAL: LATER},
    until=LATER,
    named_elsewhere=True,
)
UNJOURNALLED = replace(JOURNALLED, journals={}, horizons={}, uncorroborated=True)
WITHOUT_X = replace(
    JOURNALLED,
    names=name_transformation(
        EngineOptions(transform_names=True),
        {
            f"{CONF}mapping.username.handler": HANDLER,
            f"{CONF}mapping.username.regex": "s/^x//",
            f"{CONF}mapping.regex.separator": "/",
        },
        None,
    ),
)
NO_BASELINE = replace(JOURNALLED, baseline=None)
KNOWN = Life(DATASET, 1, None, Position(101, False, "", ""), State.KNOWN)
ALICES = Life(
    DATASET, 1, "alice", Position(110, False, JOURNAL, "record 0"), State.APPLIED, accesses=ALL, source=JOURNAL,
    event="record 0", certain=115, policy_id=7,
)  # fmt: skip


def lives(
    *texts: str, settings: FoldSettings = JOURNALLED, entity: EntityId = DATASET, decided: Sequence[Life] = ()
) -> list[str]:
    """Each life as `number creator or candidates, begun-ended state`."""
    return [_text(life) for life in fold(entity, events(texts, entity), decided, settings)]


def _text(life: Life) -> str:
    who = life.creator or ("|".join(life.candidates) if life.candidates else "-")
    return f"{life.number} {who} {life.begun.time}-{life.ended.time if life.ended else ''} {life.state}"


Cases = dict[str, tuple[list[str], list[str]]]

CREATIONS: Cases = {
    "a creation": (["alice+ 110-115"], ["1 alice 110- pending"]),
    "of before the baseline": (["alice+ 90-95"], []),
    "under way at the baseline": (["alice+ 95-105"], ["1 alice 95- pending"]),
    "created again": (["alice+ 110-115", "bob+ 120-125"], ["1 alice 110- pending"]),
    "by a user who is no creator": (["root+ 110-115"], ["1 - 110- known"]),
    "refused": (["alice+ 110-115 !404"], []),
    "failed": (["alice+ 110-115 !500"], ["1 alice 110- unconfirmed"]),
    "failed, then by the same user": (["alice+ 110-115 !500", "alice+ 120-125"], ["1 alice 120- pending"]),
    "failed, then by another": (["alice+ 110-115 !500", "bob+ 120-125"], ["1 alice|bob 120- contested"]),
    "without an end, for now": (["alice+ 9990-"], []),
    "lost": (["alice+ 110-"], ["1 alice 110- unconfirmed"]),
    "lost, then by the same user": (["alice+ 110-", "alice+ 900-905"], ["1 alice 900- pending"]),
    "lost, then by another": (["alice+ 110-", "bob+ 900-905"], ["1 alice|bob 900- contested"]),
    "overlapping": (["alice+ 110-115", "bob+ 112-130"], ["1 alice|bob 110- contested"]),
    "overlapping by the same user": (["alice+ 110-115", "alice+ 112-130"], ["1 alice 110- pending"]),
    "overlapped by one that was refused": (["alice+ 110-115", "bob+ 112-130 !409"], ["1 alice 110- pending"]),
    "overlapped by one under way": (["alice+ 9900-9905", "bob+ 9902-"], ["1 alice|bob 9900- contested"]),
    "slow body": (["mallory+ 130-135", "alice+ 110-115"], ["1 alice 110- pending"]),
    "in two processes, journalled after the record was stored": (
        ["alice+ 200-205", "bob+ 900-905 p2", "alice+ 110-115 p3"],
        ["1 alice 110- pending"],
    ),
    "in two processes, before the record was stored": (
        ["alice+ 110-115 at 500", "bob+ 300-305 p2"],
        ["1 alice|bob 110- contested"],
    ),
}
UNWITNESSED: Cases = {
    "a forged record": (["mallory~+ 110-115"], ["1 mallory 110- unconfirmed"]),
    "a forged record, then the real creation": (
        ["mallory~+ 110-115", "alice+ 120-125"],
        ["1 alice|mallory 120- contested"],
    ),
    "a line alone": (["router:mallory+ 110"], ["1 mallory 110- unconfirmed"]),
    "a message alone": (["audit:mallory+ 110"], ["1 mallory 110- unconfirmed"]),
    "a line and a check without a record": (["router:alice+ 109", "alice+ 110-"], ["1 alice 109- unconfirmed"]),
    "the same, and CDAP says that it exists": (
        ["router:alice+ 109", "alice+ 110-", "exists 900-901"],
        ["1 alice 109- pending"],
    ),
    "the same, but another may have created it before CDAP was asked": (
        ["router:mallory+ 109", "mallory+ 110-", "alice+ 2000-2005", "exists 3000-3001"],
        ["1 alice|mallory 2000- contested"],
    ),
    "a line, a check of the same user that is not about it, and it exists": (
        ["router:alice+ 109", "alice+ 800-", "exists 900-901"],
        ["1 alice 109- unconfirmed"],
    ),
    "a line, another's check, and it exists": (
        ["router:mallory+ 109", "alice+ 110-", "exists 900-901"],
        ["1 alice|mallory 109- unconfirmed"],
    ),
    "a rejected line, then a creation": (["rejected:?+ 110-112", "alice+ 120-125"], ["1 alice 120- contested"]),
}
VIEWS: Cases = {
    "record and line of one request": (["alice+ 110-115", "router:alice+ 110"], ["1 alice 110- pending"]),
    "CDAP ran it as its master user": (["root+ 110-115", "router:alice+ 110"], ["1 alice 110- pending"]),
    "two such, two lines": (
        ["root+ 110-115", "root+ 112-118", "router:alice+ 110", "router:bob+ 111"],
        ["1 alice|bob 110- contested"],
    ),
    "two such, a line is missing": (
        ["root+ 110-115", "root+ 112-118", "router:mallory+ 111"],
        ["1 mallory 110- contested"],
    ),
    "one such, another under way, a line is missing": (
        ["root+ 9910-9915", "root+ 9911-", "router:mallory+ 9910"],
        ["1 mallory 9910- contested"],
    ),
    "a line beside a request of another user": (
        ["root+ 110-115", "alice+ 111-116", "router:bob+ 110"],
        ["1 alice|bob 110- contested"],
    ),
    "a line of the master user beside it": (
        ["root+ 110-115", "router:root+ 110", "router:alice+ 111"],
        ["1 alice 110- pending"],
    ),
    "a line of another status": (["root+ 110-115", "router:alice+ 110 !404"], ["1 - 110- known"]),
    "a message names nobody for it": (["root+ 110-115", "audit:alice+ 112"], ["1 - 110- known"]),
    "a message of an impersonated user": (["alice+ 110-115", "audit:root+ 112"], ["1 alice 110- pending"]),
}
DELETIONS: Cases = {
    "deleted": (["alice+ 110-115", "alice- 120-125"], ["1 alice 110-125 closed"]),
    "deleted with its namespace": (["alice+ 110-115", "bob- 120-125 ns"], ["1 alice 110-125 closed"]),
    "deleted and created by another": (
        ["alice+ 110-115", "alice- 120-125", "bob+ 130-135"],
        ["1 alice 110-125 closed", "2 bob 130- pending"],
    ),
    "a creation over a deletion": (
        ["alice+ 110-115", "mallory- 120-130", "alice+ 125-135", "mallory+ 140-145"],
        ["1 alice 110-130 closed", "2 alice|mallory 125- contested"],
    ),
    "the same, and nobody else after it": (
        ["alice+ 110-115", "mallory- 120-130", "bob+ 125-135"],
        ["1 alice 110-130 closed", "2 bob 125- contested"],
    ),
    "the same, and CDAP says that it exists": (
        ["alice+ 110-115", "mallory- 120-130", "bob+ 125-135", "exists 900-901"],
        ["1 alice 110-130 closed", "2 bob 125- pending"],
    ),
    "it exists, and all earlier ones were over before the deletion": (
        [
            "mallory+ 110-115",
            "mallory- 120-125",
            "mallory+ 130-135",
            "mallory- 140-145",
            "carol- 150-160",
            "bob+ 155-165",
            "exists 900-901",
        ],
        ["1 mallory 110-125 closed", "2 mallory 130-145 closed", "3 bob 155- pending"],
    ),
    "it existed while the deletion was under way": (
        ["alice+ 110-115", "mallory- 120-140", "bob+ 125-128", "exists 135-136"],
        ["1 alice 110-140 closed", "2 bob 125- contested"],
    ),
    "it exists, but another may have created it meanwhile": (
        ["alice+ 110-115", "mallory- 120-130", "bob+ 125-135", "mallory+ 200-205", "exists 900-901"],
        ["1 alice 110-130 closed", "2 bob|mallory 125- contested"],
    ),
    "the same, and CDAP says that it is gone": (
        ["alice+ 110-115", "mallory- 120-130", "bob+ 125-135", "gone 900-901", "carol+ 950-955"],
        ["1 alice 110-130 closed", "2 carol 950- pending"],
    ),
    "a deletion of what is not there": (["alice- 110-115 !404", "bob+ 112-118"], ["1 bob 112- pending"]),
    "a deletion clears what was lost before": (
        ["mallory+ 110-", "alice- 900-905", "bob+ 950-955"],
        ["1 bob 950- pending"],
    ),
    "a 404 clears what was lost before": (
        ["mallory+ 110-", "gone 900-901", "bob+ 950-955"],
        ["1 bob 950- pending"],
    ),
    "a 404 while it may be being created": (
        ["mallory+ 890-910", "gone 900-901", "bob+ 950-955"],
        ["1 mallory 890- pending"],
    ),
}
VERSIONS: Cases = {
    "the last version is deleted": (
        ["mallory+ 110-115 v1", "mallory- 120-125 v1", "alice+ 130-135 v1"],
        ["1 mallory 110-125 closed", "2 alice 130- pending"],
    ),
    "another version is left": (
        ["alice+ 110-115 v1", "bob+ 120-125 v2", "alice- 130-135 v1"],
        ["1 alice 110- pending"],
    ),
    "another version is being created": (
        ["alice+ 110-115 v1", "alice- 120-130 v1", "bob+ 125-135 v2"],
        ["1 alice 110- suspended"],
    ),
    "a version without a name": (
        ["alice+ 110-115", "alice- 120-130 v1"],
        ["1 alice 110- suspended"],
    ),
}
DOUBTS: Cases = {
    "a deletion that failed": (["alice+ 110-115", "bob- 120-125 !500"], ["1 alice 110- suspended"]),
    "a deletion without an end, for now": (["alice+ 9900-9905", "bob- 9910-"], ["1 alice 9900- pending"]),
    "a lost deletion": (["alice+ 110-115", "bob- 120-"], ["1 alice 110- suspended"]),
    "a deletion that nobody journalled": (["alice+ 110-115", "mallory~- 120-125"], ["1 alice 110- suspended"]),
    "and a second source says so": (
        ["alice+ 110-115", "mallory~- 120-125", "audit:mallory- 123"],
        ["1 alice 110-125 closed"],
    ),
    "a second source names no user who could have sent it": (
        ["alice+ 110-115", "mallory~- 120-125", "audit:root- 123"],
        ["1 alice 110- suspended"],
    ),
    "a second source may mean another request of theirs, whose record is missing": (
        ["alice+ 110-115", "mallory~- 120-125", "mallory- 122-", "audit:mallory- 123"],
        ["1 alice 110- suspended"],
    ),
    "a line of another's deletion says nothing of it": (
        ["carol- 105-109", "router:carol- 105", "alice+ 112-115", "mallory~- 120-125"],
        ["1 alice 112- suspended"],
    ),
    "it still exists": (["alice+ 110-115", "bob- 120-125 !500", "exists 900-901"], ["1 alice 110- pending"]),
    "it exists, but may have been created since": (
        ["alice+ 110-115", "bob- 120-125 !500", "carol+ 130-135", "exists 900-901"],
        ["1 alice|carol 110- contested"],
    ),
    "it exists, and only its creator may have created it since": (
        ["alice+ 110-115", "bob- 120-125 !500", "alice+ 130-135", "exists 900-901"],
        ["1 alice 110- pending"],
    ),
    "it is gone": (
        ["alice+ 110-115", "bob- 120-125 !500", "gone 900-901", "carol+ 950-955"],
        ["1 alice 110-901 closed", "2 carol 950- pending"],
    ),
    "it was created again before anybody knew": (
        ["alice+ 110-115", "bob- 120-125 !500", "carol+ 130-135"],
        ["1 alice 110- suspended"],
    ),
}


@pytest.mark.parametrize("name", CREATIONS | UNWITNESSED | VIEWS | DELETIONS | DOUBTS)
def test_where_checks_are_journalled(name: str) -> None:
    texts, expected = (CREATIONS | UNWITNESSED | VIEWS | DELETIONS | DOUBTS)[name]
    assert lives(*texts) == expected


LAGGING = replace(JOURNALLED, until=140, journals={JOURNAL: 140}, horizons={JOURNAL: 140})
ENDS = {
    # what ended the life of alice's, what is known now, by which watermark, and the life after it
    "by an answer, which proves nothing beside a creation": (
        ["gone 125-130"], ["bob+ 126-126 at 176"], JOURNALLED, "2 bob 126- pending",
    ),
    "by an answer that is early again": (
        ["gone 130-140"], ["bob~+ 126-126", "bob+ 135-135"], LAGGING, "2 bob 135- pending",
    ),
    "by a deletion that is doubtful again": (
        ["alice- 130-140 at 190"], ["bob+ 115-135"], LAGGING, "2 bob 115- contested",
    ),
    "by a deletion, beside which another began": (
        ["bob- 120-140"], ["alice+ 115-125 at 175"], JOURNALLED, "2 alice 115- contested",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_what_ended_a_life_ended_it_at_the_times_of_its_own_clocks(name: str) -> None:
    ending, more, by, expected = ENDS[name]
    texts = ["alice+ 105-108", *ending]
    (ended,) = fold(DATASET, events(texts), [], JOURNALLED)
    assert ended.ended is not None
    assert lives(*texts, *more, settings=by, decided=[ended]) == [_text(ended), expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bob+ 120-127", []),
        ("bob+ 125-131", ["2 bob 125- pending"]),
        ("bob+ 135-140", ["2 bob 135- pending"]),
        ("gone 140-141", []),
    ],
)
def test_a_life_whose_end_nobody_reports_any_more_ended_at_its_moment(text: str, expected: list[str]) -> None:
    ended = replace(ALICES, state=State.CLOSED, ended=Position(130, True, JOURNAL, "record 9"))
    assert lives("alice+ 110-115", text, decided=[ended])[1:] == expected


@pytest.mark.parametrize("name", VERSIONS)
def test_versions(name: str) -> None:
    texts, expected = VERSIONS[name]
    assert lives(*texts, entity=ARTIFACT) == expected


UNCONFIRMED = {
    "alice+ 110-": (JOURNALLED, "an allowed request without a record may have created it"),
    "alice~+ 110-115": (JOURNALLED, "creation not confirmed: no decision service journalled its check"),
    "alice+ 110-115 !500": (JOURNALLED, "creation not confirmed: its request failed or could not be read"),
    "alice+ 110-115": (NO_BASELINE, "creation not confirmed; needs a baseline"),
}


@pytest.mark.parametrize("text", UNCONFIRMED)
def test_a_life_without_proof_says_what_is_missing(text: str) -> None:
    settings, reason = UNCONFIRMED[text]
    (life,) = fold(DATASET, events([text]), [], settings)
    assert (life.state, life.reason) == (State.UNCONFIRMED, reason)


def test_a_record_that_came_with_the_secret_of_its_check_proves_nothing() -> None:
    check, record = events(["mallory+ 110-115"])
    same = fold(DATASET, [check, replace(record, caller=check.caller)], [], JOURNALLED)
    assert [_text(life) for life in same] == ["1 mallory 110- unconfirmed"]


@pytest.mark.parametrize("other", [Outcome.NOTHING, Outcome.UNCLEAR])
def test_records_of_one_check_that_disagree_prove_nothing(other: Outcome) -> None:
    check, record = events(["alice+ 110-115"])
    found = fold(DATASET, [check, record, replace(record, id="another", outcome=other)], [], JOURNALLED)
    assert [_text(life) for life in found] == ["1 alice 110- unconfirmed"]


@pytest.mark.parametrize(("settings", "expected"), [(UNJOURNALLED, ["1 alice 110- unconfirmed"]), (JOURNALLED, [])])
def test_a_line_without_an_outcome_may_be_a_creation_where_no_check_is_journalled(
    settings: FoldSettings, expected: list[str]
) -> None:
    (line,) = events(["router:alice+ 110"])
    found = fold(DATASET, [replace(line, outcome=Outcome.UNCLEAR)], [], settings)
    assert [_text(life) for life in found] == expected


AUTHORED = [
    # when the version was created that CDAP says alice created: she asked from 110 to 115, bob from 112 to 130
    (107, "1 alice|bob 110- contested"),
    (109, "1 alice 110- pending"),
    (113, "1 alice|bob 110- contested"),
    (120, "1 alice|bob 110- contested"),
    (200, "1 alice|bob 110- contested"),
]


@pytest.mark.parametrize(("authored", "expected"), AUTHORED)
def test_an_author_decides_only_if_no_other_request_can_have_created_it_then(authored: int, expected: str) -> None:
    (answer,) = events(["exists 900-901"])
    named = replace(answer, user="alice", requested=authored)
    found = fold(DATASET, [*events(["alice+ 110-115", "bob+ 112-130"]), named], [], JOURNALLED)
    assert [_text(life) for life in found] == [expected]


@pytest.mark.parametrize(
    ("source", "expected"), [(JOURNAL, "1 alice 110- pending"), ("", "1 alice|bob 110- contested")]
)
def test_only_a_life_that_a_request_began_is_decided_again(source: str, expected: str) -> None:
    until = replace(JOURNALLED, journals={JOURNAL: 300}, horizons={JOURNAL: 300}, until=300)
    (contested,) = fold(DATASET, events(["alice+ 110-115", "bob+ 112-"]), [], until)
    assert (contested.state, contested.source) == (State.CONTESTED, JOURNAL)
    refused = events(["alice+ 110-115", "bob+ 112-130 !409"])
    found = fold(DATASET, refused, [replace(contested, source=source)], JOURNALLED)
    assert [_text(life) for life in found] == [expected]


def test_a_line_is_about_the_version_that_it_names() -> None:
    made = events(["alice~+ 110-115 v1", "bob~+ 120-125 v2"], ARTIFACT)
    (deleted,) = events(["router:alice- 900"], ARTIFACT)
    for version, state in (("1", State.PENDING), ("2", State.PENDING), ("", State.CLOSED)):
        (life,) = fold(ARTIFACT, [*made, replace(deleted, version=version)], [], UNJOURNALLED)
        assert life.state is state


LISTED: dict[str, tuple[tuple[str, ...] | None, list[str], list[str]]] = {
    "its only version": (("1",), ["bob- 120-125 v1"], ["1 - 101-125 closing"]),
    "one of two": (("1", "2"), ["bob- 120-125 v1"], ["1 - 101- known"]),
    "one, and nobody listed them": (None, ["bob- 120-125 v1"], ["1 - 101- suspended"]),
    "all that were listed, and one that came later": (
        ("1",), ["alice+ 110-115 v2", "bob- 120-125 v1", "bob- 130-135 v2"], ["1 - 101-135 closing"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LISTED)
def test_versions_that_the_inventory_found(name: str) -> None:
    versions, texts, expected = LISTED[name]
    known = replace(KNOWN, entity=ARTIFACT, versions=versions)
    assert lives(*texts, entity=ARTIFACT, decided=[known]) == expected


LEGACY: Cases = {
    "a record without a check": (["alice~+ 110-115"], ["1 alice 110- pending"]),
    "a line": (["router:alice+ 110"], ["1 alice 110- pending"]),
    "two lines within ten minutes": (["router:alice+ 110", "router:bob+ 300"], ["1 alice|bob 110- contested"]),
    "two lines": (["router:alice+ 110", "router:bob+ 900"], ["1 alice 110- pending"]),
    "a line begins with its check, which a message may have met": (
        ["audit:alice+ 107", "bob+ 109-", "router:bob+ 111"],
        ["1 alice|bob 107- contested"],
    ),
    "so does a message": (
        ["audit:alice+ 109", "bob+ 108-", "audit:bob+ 112"],
        ["1 alice|bob 109- contested"],
    ),
    "a message ends with its check, if the clocks say so": (
        ["audit:alice+ 112", "alice+ 114-", "audit:bob+ 116"],
        ["1 alice|bob 112- contested"],
    ),
    "a line whose check came after the message": (
        ["audit:alice+ 107", "bob+ 111-", "router:bob+ 112"],
        ["1 alice 107- pending"],
    ),
    "a record that was stored before another request was checked": (
        ["alice~+ 110-115 at 200", "bob+ 300-305 p2"],
        ["1 alice 110- pending"],
    ),
    "a record that was stored after another request was checked": (
        ["alice~+ 110-115 at 500", "bob+ 300-305 p2"],
        ["1 alice|bob 110- contested"],
    ),
    "a deletion": (["router:alice+ 110", "router:alice- 900"], ["1 alice 110-900 closed"]),
}


@pytest.mark.parametrize("name", LEGACY)
def test_where_no_check_is_journalled_and_the_settings_grant(name: str) -> None:
    texts, expected = LEGACY[name]
    assert lives(*texts, settings=UNJOURNALLED) == expected


RECORDLESS: Cases = {
    "a creation, and CDAP was not asked": (["router:alice+ 109", "alice+ 110-"], ["1 alice 109- unconfirmed"]),
    "a creation that CDAP confirms": (["router:alice+ 109", "alice+ 110-", "exists 900-901"], ["1 alice 109- pending"]),
    "a check alone": (["alice+ 110-"], ["1 alice 110- unconfirmed"]),
    "a check alone, too early to say": (["alice+ 9500-"], []),
    "a check alone that CDAP refutes": (
        ["alice+ 110-", "gone 900-901", "router:bob+ 949", "bob+ 950-", "exists 1600-1601"],
        ["1 bob 949- pending"],
    ),
    "CDAP refutes it when it may not be over, by clocks that may differ": (
        ["alice+ 110-", "gone 712-713"],
        ["1 alice 110- unconfirmed"],
    ),
    "and when it is over by any clock": (["alice+ 110-", "gone 713-714"], []),
    "a deletion of which only the check tells": (
        ["router:alice+ 109", "alice+ 110-", "exists 900-901", "bob- 1000-"],
        ["1 alice 109- suspended"],
    ),
    "a deletion that the router tells": (
        ["router:alice+ 109", "alice+ 110-", "exists 900-901", "router:bob- 999", "bob- 1000-"],
        ["1 alice 109- suspended"],
    ),
    "and CDAP says that it is gone": (
        ["router:alice+ 109", "alice+ 110-", "exists 900-901", "bob- 1000-", "gone 1700-1701"],
        ["1 alice 109-1701 closed"],
    ),
    "and CDAP says that it is there": (
        ["router:alice+ 109", "alice+ 110-", "exists 900-901", "bob- 1000-", "exists 1700-1701"],
        ["1 alice 109- pending"],
    ),
}


@pytest.mark.parametrize("name", RECORDLESS)
def test_where_cdap_delivers_no_records(name: str) -> None:
    texts, expected = RECORDLESS[name]
    assert lives(*texts, settings=replace(JOURNALLED, recordless=frozenset({JOURNAL}))) == expected


def test_where_no_check_is_journalled_and_the_settings_hold() -> None:
    held = replace(UNJOURNALLED, uncorroborated=False)
    assert lives("router:alice+ 110", settings=held) == ["1 alice 110- unconfirmed"]
    assert lives("audit:alice+ 110", settings=held) == ["1 alice 110- pending"]


@pytest.mark.parametrize("text", ["alice+ 110-115", "alice~+ 110-115", "router:alice+ 110"])
def test_without_a_baseline_ambiguous_events_grant_nothing(text: str) -> None:
    assert lives(text, settings=NO_BASELINE) == [f"1 alice {110}- unconfirmed"]
    assert lives(text, settings=replace(UNJOURNALLED, baseline=None)) == [f"1 alice {110}- unconfirmed"]


def test_without_a_baseline_only_what_cdap_says_itself_grants() -> None:
    assert lives("audit:alice+ 110", settings=replace(UNJOURNALLED, baseline=None)) == ["1 alice 110- pending"]


@pytest.mark.parametrize("text", ["mallory+ 110-115", "mallory~+ 110-115", "router:mallory+ 110", "audit:mallory+ 110"])
def test_a_known_entity_is_taken_over_by_nobody(text: str) -> None:
    assert lives(text, decided=[KNOWN]) == ["1 - 101- known"]


@pytest.mark.parametrize("life", [KNOWN, replace(KNOWN, creator="alice", state=State.APPLIED, source=MANUAL)])
def test_a_deletion_as_old_as_a_list_may_be_younger(life: Life) -> None:
    assert [found.state for found in fold(DATASET, events(["bob- 99-102 !500"]), [life], JOURNALLED)] == [
        State.SUSPENDED
    ]


def test_one_stolen_audit_secret_takes_no_known_entity_over() -> None:
    forged = ["mallory~- 110-115", "mallory~+ 120-125"]
    assert lives(*forged, decided=[KNOWN]) == ["1 - 101- suspended"]
    assert lives(*forged, "exists 900-901", decided=[KNOWN]) == ["1 mallory 101- contested"]


def test_the_schedule_of_a_deleted_application_is_gone() -> None:
    assert lives("alice+ 110-115", "bob- 120-125 app", entity=SCHEDULE) == ["1 alice 110-125 closed"]


def test_a_deployment_deletes_the_schedules_of_the_application() -> None:
    made = ["mallory+ 110-115", "bob+ 120-125 app"]
    assert lives(*made, entity=SCHEDULE) == ["1 mallory 110-125 closed"]
    assert lives(*made, "alice+ 130-135", entity=SCHEDULE) == ["1 mallory 110-125 closed", "2 alice 130- pending"]


@pytest.mark.parametrize("deployment", ["bob+ 120-125 !500 app", "bob+ 120- app", "bob~+ 120-125 app"])
def test_a_deployment_of_which_nobody_can_tell_suspends_them(deployment: str) -> None:
    assert lives("mallory+ 110-115", deployment, entity=SCHEDULE) == ["1 mallory 110- suspended"]
    assert lives("mallory+ 110-115", deployment, entity=DATASET) == ["1 mallory 110- pending"]


def test_a_life_keeps_to_its_request_also_where_another_view_of_it_is_known_first() -> None:
    (early,) = fold(DATASET, events(["audit:alice+ 112"]), [], UNJOURNALLED)
    assert early.creator == "alice"

    late = events(["audit:alice+ 112", "alice~+ 110-115", "carol~- 116-118"])
    (life,) = fold(DATASET, late, [early], UNJOURNALLED)

    assert (life.state, life.former) == (State.CONTESTED, "alice")


def test_a_life_keeps_when_its_request_ended_also_where_the_events_are_deleted() -> None:
    made, deleted = events(["alice+ 110-115"]), events(["bob- 113-125"])
    (life,) = fold(DATASET, made, [], JOURNALLED)
    assert life.certain == 115
    for known in ([*made, *deleted], deleted):
        assert [each.ended for each in fold(DATASET, known, [life], JOURNALLED)] == [None]


def test_a_rejected_line_is_over_when_its_service_stored_it() -> None:
    """As of any other request: no clocks are compared, however much they may differ."""
    rejected, *rest = events(["rejected:?+ 110-112", "bob- 200-205", "alice+ 600-605"])
    stored = replace(rejected, source=JOURNAL, received=115)
    settings = replace(JOURNALLED, skew=300)
    assert [_text(life) for life in fold(DATASET, [stored, *rest], [], settings)] == ["1 alice 600- pending"]
    assert [_text(life) for life in fold(DATASET, [rejected, *rest], [], settings)] == ["1 alice 600- contested"]


def test_a_record_without_time_of_request_is_confirmed_by_what_it_overlaps() -> None:
    made = events(["alice+ 110-115", "mallory~- 2000-2005"])
    for at, state in ((500, State.SUSPENDED), (2003, State.CLOSED)):
        known = [*(replace(event, requested=0) for event in made), *events([f"audit:mallory- {at}"])]
        assert [life.state for life in fold(DATASET, known, [], JOURNALLED)] == [state]


def test_a_record_that_two_services_stored_begins_and_ends_one_life() -> None:
    made = events(["alice+ 110-115", "alice- 120-125"])
    elsewhere = [replace(event, source="second") for event in made if event.id.startswith("record")]
    checks = [event for event in made if event.id.startswith("check")]
    settings = replace(JOURNALLED, horizons=dict.fromkeys((JOURNAL, "second"), LATER), skew=300)

    first = fold(DATASET, [*checks, *elsewhere], [], settings)
    both = fold(DATASET, [*made, *elsewhere], first, settings)

    assert [_text(life) for life in first] == ["1 alice 110-125 closed"]
    assert both == first


def test_a_check_of_the_application_corroborates_its_schedule() -> None:
    check, record = events(["alice+ 110-115"], SCHEDULE)
    asked = replace(check, entity=APPLICATION, child="schedule")
    found = fold(SCHEDULE, [asked, record], [], JOURNALLED)
    assert [_text(life) for life in found] == ["1 alice 110- pending"]
    assert fold(APPLICATION, [asked], [], JOURNALLED) == ()


OTHER_APPLICATION = EntityId("application", ("ns1", "Other"))
PROGRAM = EntityId("program", ("ns1", "App", "workflow", "W"))
CHECKS_OF_SCHEDULES = [
    # the entity, and whether a check of the schedules of `App` concerns it
    (SCHEDULE, True),
    (EntityId("schedule", ("ns1", "Other", "daily")), False),
    (PROGRAM, False),
    (APPLICATION, False),
    (OTHER_APPLICATION, False),
]


@pytest.mark.parametrize(("entity", "concerned"), CHECKS_OF_SCHEDULES)
def test_a_check_of_the_schedules_of_an_application_concerns_these_only(entity: EntityId, concerned: bool) -> None:
    check, _ = events(["alice+ 110-115"], APPLICATION)
    assert concerns(entity, replace(check, child="schedule")) is concerned


def test_of_the_records_of_such_a_check_those_of_the_schedule_count() -> None:
    check, record = events(["alice+ 110-115"], SCHEDULE)
    asked = replace(check, entity=APPLICATION, child="schedule")
    deployed = replace(record, entity=APPLICATION, id="deployment", outcome=Outcome.NOTHING)
    for recorded in ([deployed, record], [replace(deployed, outcome=Outcome.DONE), record]):
        found = fold(SCHEDULE, [asked, *recorded], [], JOURNALLED)
        assert [_text(life) for life in found] == ["1 alice 110- pending"]


ONLY_KNOWN = [
    ("alice+ 110-115", {}, "1 alice 110- known", "the profile grants creators no access to this entity type"),
    ("root+ 110-115", GIVES, "1 - 110- known", "no possible creator is known"),
    ("alice+ 110-115", GIVES, "1 alice 110- pending", ""),
]


@pytest.mark.parametrize(("made", "gives", "expected", "reason"), ONLY_KNOWN)
def test_a_life_that_gets_nothing_is_only_known_and_says_why(
    made: str, gives: dict[str, tuple[str, ...]], expected: str, reason: str
) -> None:
    (life,) = fold(DATASET, events([made]), [], replace(JOURNALLED, gives=gives))
    assert (_text(life), life.reason) == (expected, reason)


def test_nothing_is_decided_before_its_time() -> None:
    early = replace(JOURNALLED, horizons={JOURNAL: 115})
    assert lives("alice+ 110-115", settings=early) == []
    assert lives("alice+ 110-115 at 114", settings=early) == ["1 alice 110- pending"]


def test_a_request_of_nobody_known_waits_for_the_sources_that_may_name_its_user() -> None:
    early = replace(JOURNALLED, until=112)
    assert lives("root+ 110-115", settings=early) == []
    assert lives("root+ 110-115", settings=replace(early, named_elsewhere=False)) == ["1 - 110- known"]


@pytest.mark.parametrize(("impersonated", "creator"), [("owner", "svc"), ("requester", "alice")])
def test_what_is_created_for_an_impersonated_user_goes_to_the_configured_one(impersonated: str, creator: str) -> None:
    made = [replace(event, requester="alice") for event in events(["svc+ 110-115"])]
    settings = replace(JOURNALLED, impersonated=impersonated)
    assert [life.creator for life in fold(DATASET, made, [], settings)] == [creator]


@pytest.mark.parametrize(("impersonated", "creator"), [("owner", "svc"), ("requester", "alice")])
def test_a_line_is_of_the_user_whom_its_check_names(impersonated: str, creator: str) -> None:
    line, check, answer = events(["router:svc+ 109", "svc+ 110-", "exists 900-901"])
    settings = replace(JOURNALLED, impersonated=impersonated)
    (found,) = fold(DATASET, [line, replace(check, requester="alice"), answer], [], settings)
    assert (found.creator, found.state) == (creator, State.PENDING)


def test_a_mapped_user_stands_for_another_also_the_master() -> None:
    assert lives("root+ 110-115", settings=replace(JOURNALLED, mapped={"root": "ops"})) == ["1 ops 110- pending"]


def test_users_whom_ranger_names_alike_are_one_owner_and_others_are_not() -> None:
    twice = ("xeve+ 110-115", "eve+ 112-130")
    assert lives(*twice) == ["1 eve|xeve 110- contested"]
    assert lives(*twice, settings=WITHOUT_X) == ["1 eve 110- pending"]
    assert lives("xeve+ 110-115", "bob+ 112-130", settings=WITHOUT_X) == ["1 bob|eve 110- contested"]


def test_names_of_settings_are_compared_as_ranger_names_them() -> None:
    assert lives("xroot+ 110-115", settings=WITHOUT_X) == ["1 - 110- known"]
    assert lives("xsvc+ 110-115", settings=replace(WITHOUT_X, mapped={"svc": "ops"})) == ["1 ops 110- pending"]


def test_a_user_with_an_uncertain_name_is_no_creator() -> None:
    assert lives(f"{'a' * 300}+ 110-115", settings=WITHOUT_X) == ["1 - 110- known"]


def test_the_author_of_the_oldest_version_chooses_among_the_candidates() -> None:
    contested = events(["alice+ 110-115", "bob+ 120-130", "carol+ 114-140"], APPLICATION)
    (answer,) = events(["exists 900-901"], APPLICATION)

    def creators(author: str, at: int) -> list[str | None]:
        named = replace(answer, user=author, requested=at)
        return [life.creator for life in fold(APPLICATION, [*contested, named], [], JOURNALLED)]

    assert creators("alice", 111) == ["alice"]
    assert creators("mallory", 111) == [None]
    assert creators("alice", 135) == [None]


def test_an_author_named_before_a_deletion_says_nothing_of_what_it_left() -> None:
    late = events(["alice+ 110-115 at 500", "carol- 400-405 p2"], APPLICATION)
    (answer,) = events(["exists 300-301"], APPLICATION)

    (life,) = fold(APPLICATION, [*late, replace(answer, user="alice", requested=112)], [], JOURNALLED)

    assert _text(life) == "1 alice 110- contested"
    assert life.creator is None


def test_late_evidence_contests_a_granted_life_until_it_is_refuted() -> None:
    (contested,) = fold(DATASET, events(["alice+ 110-115", "bob+ 112-"]), [ALICES], JOURNALLED)
    assert (contested.state, contested.creator, contested.former) == (State.CONTESTED, None, "alice")
    assert contested.revoke
    assert contested.policy_id == 7

    (restored,) = fold(DATASET, events(["alice+ 110-115", "bob+ 112-130 !409"]), [contested], JOURNALLED)
    assert (restored.state, restored.creator, restored.number) == (State.PENDING, "alice", 1)


def test_what_a_person_decided_is_contested_by_nothing() -> None:
    assigned = replace(ALICES, creator="carol", source=MANUAL, event="")
    assert lives("alice+ 110-115", "bob+ 112-130", decided=[assigned]) == ["1 carol 110- applied"]


def test_the_end_of_a_recorded_life_leaves_rights_to_revoke() -> None:
    history = ["alice+ 110-115", "bob- 116-117 !500", "alice- 120-125"]
    suspended = replace(ALICES, state=State.SUSPENDED, revoke=True)
    for recorded, state in (
        ([ALICES], State.CLOSING),
        ([suspended], State.CLOSING),
        ([replace(suspended, revoke=False)], State.CLOSING),
        ([], State.CLOSED),
    ):
        (ended,) = fold(DATASET, events(history), recorded, JOURNALLED)
        assert ended.state is state


@pytest.mark.parametrize(("made", "begun"), [("bob+ 190-195", []), ("bob+ 210-215", ["2 bob 210- pending"])])
@pytest.mark.parametrize("source", [MANUAL, RECONCILED])
def test_a_life_that_no_event_ended_makes_room_for_what_is_created_since(
    source: str, made: str, begun: list[str]
) -> None:
    closed = replace(ALICES, state=State.CLOSED, ended=Position(200, True, source, ""))
    assert lives("alice+ 110-115", made, decided=[closed]) == ["1 alice 110-200 closed", *begun]


def test_the_baseline_leaves_an_open_life_alone_and_replaces_an_unconfirmed_one() -> None:
    assert known_life(DATASET, [ALICES], 200) is None
    unconfirmed = replace(ALICES, state=State.UNCONFIRMED)
    assert known_life(DATASET, [unconfirmed], 200) == Life(
        DATASET, 1, None, Position(201, False, "", ""), State.KNOWN, reason="found by the baseline"
    )
    ended = [replace(KNOWN, number=number, state=State.CLOSED, ended=KNOWN.begun) for number in (2, 1, 3)]
    found = known_life(DATASET, ended, 200)
    assert found is not None
    assert found.number == 4


def test_a_contested_life_that_had_a_grant_keeps_what_it_had() -> None:
    had = replace(ALICES, state=State.CONTESTED, creator=None, former="alice", candidates=("alice", "bob"), revoke=True)
    (life,) = fold(DATASET, events(["alice+ 110-115", "bob+ 112-130"]), [had], JOURNALLED)
    assert (life.state, life.former, life.policy_id, life.revoke) == (State.CONTESTED, "alice", 7, True)


def test_what_no_event_supports_any_more_is_dropped() -> None:
    """As if its events came from a source that is no longer configured."""
    (unconfirmed,) = fold(DATASET, events(["alice+ 110-115 !500"]), [], JOURNALLED)
    assert refold(History(DATASET, (), (unconfirmed,)), JOURNALLED) == [LedgerChange(unconfirmed, None)]
    assert refold(History(DATASET, (), ()), JOURNALLED) == []


# Laws, over whatever may have happened.

_USERS = st.sampled_from(["alice", "bob", "root"])
_TIMES = st.integers(94, 140)
_PROCESSES = st.sampled_from(["", " p2"])


@st.composite
def _requests(draw: st.DrawFn) -> str:
    start = draw(_TIMES)
    end = f"{start + draw(st.integers(0, 12))}" if draw(st.integers(0, 4)) else ""
    status = draw(st.sampled_from(["", "", " !500", " !404"])) if end else ""
    place = draw(st.sampled_from(["", "", " ns"]))
    kind = "-" if place else draw(st.sampled_from("+++-"))
    forged = draw(st.sampled_from(["", "", "~"])) if end else ""
    return f"{draw(_USERS)}{forged}{kind} {start}-{end}{status}{place}{draw(_PROCESSES)}"


_LINES = st.builds("{}:{}{} {}".format, st.sampled_from(["router", "audit"]), _USERS, st.sampled_from("+-"), _TIMES)
_ANSWERS = st.builds("{0} {1}-{1}".format, st.sampled_from(["exists", "gone"]), st.integers(100, 800))
_HISTORIES = st.lists(st.one_of(_requests(), _requests(), _LINES, _ANSWERS), max_size=9)
_SETTINGS = st.sampled_from([JOURNALLED, UNJOURNALLED, NO_BASELINE, replace(JOURNALLED, horizons={JOURNAL: 120})])


_A_LINE_IS_MISSING = ["root+ 110-115", "root+ 112-118", "router:mallory+ 111"]


@given(_HISTORIES, _SETTINGS, st.randoms(use_true_random=False))
@example(_A_LINE_IS_MISSING, JOURNALLED, Random(0))
def test_order_and_repetition_do_not_matter(texts: list[str], settings: FoldSettings, random: Random) -> None:
    in_order = events(texts)
    shuffled = [*in_order, *in_order]
    random.shuffle(shuffled)
    assert fold(DATASET, shuffled, [], settings) == fold(DATASET, in_order, [], settings)


@given(_HISTORIES, _SETTINGS)
def test_folding_again_changes_nothing(texts: list[str], settings: FoldSettings) -> None:
    once = fold(DATASET, events(texts), [], settings)
    assert fold(DATASET, events(texts), once, settings) == once


_OWNED = st.sampled_from(["alice+ 110-115", "alice+ 110-130", "audit:alice+ 110"]).map(lambda text: [text])


@given(st.one_of(_OWNED, _HISTORIES), _HISTORIES, _SETTINGS)
@example(["alice+ 110-115"], ["bob+ 112-130"], JOURNALLED)
def test_whatever_arrives_later_no_owner_changes(first: list[str], later: list[str], settings: FoldSettings) -> None:
    decided = fold(DATASET, events(first), [], settings)
    known = {life.number: life for life in fold(DATASET, events([*first, *later]), decided, settings)}
    for life in decided:
        if life.creator and life.state is not State.UNCONFIRMED:
            assert known[life.number].creator in (life.creator, None)


_IN_ORDER = st.lists(st.sampled_from(["alice+", "bob+", "alice-", "bob-", "alice- ns", "gone"]), max_size=6)


@given(_IN_ORDER, st.integers(0, LATER), st.sampled_from([0, 200_000]))
@example(["alice+", "bob+", "bob-"], 250, 200_000)
@example(["alice+", "gone"], 205, 200_000)
def test_a_watermark_that_falls_behind_begins_no_life(done: list[str], behind: int, offset: int) -> None:
    """Of requests that certainly came one after the other; CDAP's clock is behind that of the journal by `offset`."""
    texts = [_at(what, 110 + 100 * n) for n, what in enumerate(done)]
    made = [_by_journal(event, offset) for event in events(texts)]
    now, then = (
        replace(JOURNALLED, journals={JOURNAL: time + offset}, horizons={JOURNAL: time + offset})
        for time in (LATER, behind)
    )
    decided = fold(DATASET, made, [], now)
    if decided and all(life.creator and not life.is_open for life in decided):
        assert [life.creator for life in fold(DATASET, made, decided, then)] == [life.creator for life in decided]


def _at(what: str, start: int) -> str:
    what, _, place = what.partition(" ")
    return f"{what} {start}-{start + 5} {place}".strip()


def _by_journal(event: EntityEvent, offset: int) -> EntityEvent:
    """The event where the journal's clock, which dates CDAP's answers too, is ahead of CDAP's."""
    if event.stage is Stage.ANSWER:
        return replace(event, started=event.started + offset, ended=event.ended + offset)
    return replace(event, received=event.received and event.received + offset)


@given(_HISTORIES, _SETTINGS)
def test_lives_follow_one_another_and_only_the_last_is_open(texts: list[str], settings: FoldSettings) -> None:
    found = fold(DATASET, events(texts), [], settings)
    assert [life.number for life in found] == list(range(1, len(found) + 1))
    assert all(not earlier.is_open for earlier, _ in pairwise(found))


@given(_HISTORIES)
@example(["mallory~+ 110-115"])
def test_nobody_is_granted_what_no_journalled_request_of_theirs_created(texts: list[str]) -> None:
    made = events(texts)
    created = {
        (event.user, event.check)
        for event in made
        if event.kind is ChangeKind.CREATE and event.check and event.source == JOURNAL
    }
    own = {user for user, check in created if sum(1 for event in made if event.check == check) == 2}
    for life in fold(DATASET, made, [], JOURNALLED):
        if life.state is State.PENDING:
            assert life.creator in own | {event.user for event in made if event.source == "router"}


_MAY_END = [state for state in State if state not in (State.UNCONFIRMED, State.CLOSED)]


@pytest.mark.parametrize(("before", "after"), list(product(State, State)), ids=lambda state: state.value)
def test_what_a_life_may_become(before: State, after: State) -> None:
    life = replace(ALICES, state=before)
    if after in TRANSITIONS[before]:
        assert life.become(after).state is after
    else:
        with pytest.raises(SyncError, match="cannot become"):
            life.become(after)


@pytest.mark.parametrize("state", _MAY_END)
def test_the_end_of_an_entity_is_a_transition_from_every_open_state(state: State) -> None:
    assert State.CLOSING in TRANSITIONS[state]


def test_an_event_is_kept_as_what_it_says() -> None:
    (check, record) = events(["alice+ 110-115"])
    assert (check.position, record.position.time) == (Position(110, False, JOURNAL, "check 0"), 110)
    assert isinstance(record, EntityEvent)


@pytest.mark.parametrize(("held", "creator"), [(100, None), (LATER, "bob")])
def test_nobody_gains_by_a_rivals_line_while_a_better_one_may_come(held: int, creator: str | None) -> None:
    """The log of a pool names bob for a request that CDAP ran as its master user; the edge has not reported yet."""
    settings = replace(JOURNALLED, ranks={**JOURNALLED.ranks, "edge": 40}, held={JOURNAL: held})
    found = fold(DATASET, events(["root+ 110-115", "router:bob+ 110", "bob+ 2300-2305"]), [], settings)
    assert [life.creator for life in found] == [creator]


AHEAD = 10**9
"""A time of reception by a clock that is far ahead."""


@pytest.mark.parametrize(("deleted", "is_lost"), [("root- 150-155", False), ("root- 800-805", True)])
@pytest.mark.parametrize(("journalled", "stepped"), [(110, 0), (110, AHEAD), (AHEAD, AHEAD)])
def test_a_step_of_the_services_clock_ends_no_request_that_is_under_way(
    deleted: str, is_lost: bool, journalled: int, stepped: int
) -> None:
    """An allowed request without an end is over before a deletion only if it is by CDAP's time too."""
    (check,) = events(["bob+ 110-"])
    check = replace(check, received=journalled, check="opened", id="opened")
    told = [replace(each, received=stepped + each.received) for each in events([deleted, "alice+ 2000-2005"])]
    settings = replace(JOURNALLED, baseline=-AHEAD, latest=LATER, named_elsewhere=False)
    life = fold(DATASET, [check, *told], (), settings)[-1]
    assert (life.state, life.creator) == ((State.PENDING, "alice") if is_lost else (State.CONTESTED, None))


def test_a_service_far_ahead_is_in_no_order_with_another_one() -> None:
    """What one service stored is not before what another one journalled by a clock that is a day ahead."""
    first, second = events(["alice+ 110-115", "bob+ 112-117"])[:2], events(["alice+ 110-115", "bob+ 112-117"])[2:]
    other = [replace(each, source="second", received=AHEAD + each.received) for each in second]
    settings = replace(JOURNALLED, horizons=dict.fromkeys((JOURNAL, "second"), LATER), latest=LATER)
    different = [replace(each, clock="p2") for each in other]
    (life,) = fold(DATASET, [*first, *different], (), settings)
    assert (life.state, life.candidates) == (State.CONTESTED, ("alice", "bob"))


INVENTORY = 50_000
RECONCILED_LIFE = Life(
    DATASET, 1, "alice", Position(110, False, JOURNAL, "gone"), State.CLOSED, Position(INVENTORY, True, RECONCILED, "")
)
FOUND_LIFE = known_life(DATASET, (), INVENTORY)
BEFORE_THE_INVENTORY: dict[str, tuple[str, Life | None, list[State]]] = {
    "absent in the inventory": ("bob+ 110-115", None, []),
    "found by the inventory": ("bob- 110-115", FOUND_LIFE, [State.KNOWN]),
    "ended by the inventory": ("bob+ 110-115", RECONCILED_LIFE, [State.CLOSED]),
}


def test_what_was_stored_before_an_inventory_is_older_by_whatever_clock() -> None:
    found = {}
    for name, (text, life, _) in BEFORE_THE_INVENTORY.items():
        check, record = events([text])
        told = [replace(check, received=AHEAD, source="second"), replace(record, check=check.check)]
        settings = replace(
            JOURNALLED, baseline=INVENTORY, latest=AHEAD, until=AHEAD, horizons={JOURNAL: AHEAD, "second": 2 * AHEAD},
            journals={JOURNAL: AHEAD, "second": 2 * AHEAD}, ranks={**JOURNALLED.ranks, "second": 20},
        )  # fmt: skip
        found[name] = [each.state for each in fold(DATASET, told, [life] if life else [], settings)]
    assert found == {name: states for name, (*_, states) in BEFORE_THE_INVENTORY.items()}


def test_a_deletion_before_an_inventory_may_have_ended_what_may_be_older() -> None:
    """The creation was stored after the inventory only, by a process whose clock was set in between."""
    check, record, *deletion = events(["bob+ 44100-44105", "alice- 58800-58805"])
    told = [replace(check, received=30_000), replace(record, received=INVENTORY + 100)]
    told += [replace(each, received=31_000) for each in deletion]
    settings = replace(
        JOURNALLED, baseline=INVENTORY, journals={JOURNAL: AHEAD}, horizons={JOURNAL: AHEAD}, until=AHEAD
    )
    found = fold(DATASET, told, [], settings)
    assert [(life.state, life.candidates) for life in found] == [(State.CONTESTED, ("bob",))]


def test_a_new_inventory_hides_no_rival() -> None:
    told = events(["alice+ 110-115", "bob+ 112-117 p2"])
    decided = fold(DATASET, told[:2], [], JOURNALLED)
    found = fold(DATASET, told, decided, replace(JOURNALLED, baseline=INVENTORY))
    assert [(life.state, life.candidates) for life in found] == [(State.CONTESTED, ("alice", "bob"))]


def test_a_new_inventory_leaves_a_contested_entity_to_nobody() -> None:
    """It lists the entity, which has a life already, so it adds none: that does not say that the entity was absent."""
    told = events(["alice+ 110-115", "bob+ 112-117 p2"])
    decided = fold(DATASET, told, [], JOURNALLED)
    assert known_life(DATASET, decided, 5_000) is None
    settings = replace(JOURNALLED, baseline=5_000)
    found = fold(DATASET, events(["alice+ 110-115", "bob+ 112-117 p2", "mallory+ 6000-6005"]), decided, settings)
    assert [(life.state, life.creator) for life in found] == [(State.CONTESTED, None)]


ADOPTED = replace(ALICES, begun=Position(0, False, "", ""), source="", event="", certain=INVENTORY)
AFTER_ADOPTION: dict[str, tuple[list[str], list[str]]] = {
    "gone before, and found": (["root- 110-115", "mallory+ 6000-6005"], ["1 alice 0-115 closing", "2 - 50001- known"]),
    "gone since": (["root- 60000-60005"], ["1 alice 0-60005 closing"]),
    "gone since, and made anew": (
        ["root- 60000-60005", "bob+ 70000-70005"], ["1 alice 0-60005 closing", "2 bob 70000- pending"]
    ),
}  # fmt: skip


def test_what_an_inventory_found_after_the_end_of_an_adopted_grant_is_nobodys() -> None:
    """Its ledger went back, and event files may be gone: who made the entity anew before the inventory is unknown."""
    far = replace(
        JOURNALLED, baseline=INVENTORY, journals={JOURNAL: AHEAD}, horizons={JOURNAL: AHEAD}, until=AHEAD, latest=AHEAD
    )
    found = {name: lives(*told, settings=far, decided=[ADOPTED]) for name, (told, _) in AFTER_ADOPTION.items()}
    assert found == {name: wanted for name, (_, wanted) in AFTER_ADOPTION.items()}
