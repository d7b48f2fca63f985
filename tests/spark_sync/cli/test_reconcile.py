"""What the commands about drift and people's decisions show, and what they refuse."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.main import main
from ranger_cdap.errors import AccessForbidden, InvalidInput
from ranger_cdap.ranger_model.download import SecurityZoneInfo
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.cli import status as status_command
from spark_sync.cli.lives_text import print_changes
from spark_sync.cli.reconcile import print_comparison, to_json
from spark_sync.grants.observe import Observation
from spark_sync.ledger.life import State
from spark_sync.reconcile.drift import DriftFinding
from spark_sync.reconcile.overrides import assign, forget
from spark_sync.reconcile.reconcile import gather_facts
from spark_sync.reconcile.repair import RepairAction
from spark_sync.status import StatusReport
from tests.spark_sync.grants.fixtures import item
from tests.spark_sync.reconcile.drift_fixtures import ALL, APP, KV, SETTINGS, find_drift, inventory, ours, row

EDITED = ours(policy_items=[item("bob", "read")])
TABLE = Invocation()


class Listed:
    """A Ranger whose list shows less than it has."""

    def __init__(self, *policies: Policy, hidden: Policy | None = None, forbidden: bool = False) -> None:
        self._policies, self._hidden, self._forbidden = policies, hidden, forbidden

    def security_zones(self, service: str) -> dict[str, SecurityZoneInfo]:
        return {}

    def list_policies(self, service: str, zone: str = "") -> list[Policy]:
        return list(self._policies)

    def policy_by_guid(self, service: str, guid: str, zone: str = "") -> Policy | None:
        if self._forbidden:
            raise AccessForbidden("the account lacks a right")
        return self._hidden if self._hidden and self._hidden.guid == guid else None


def missing(ranger: Listed) -> bool:
    (facts,) = gather_facts([row(State.APPLIED)], ranger.list_policies("cdapdev"), None, SETTINGS, ranger)
    return not facts.policies


def test_a_policy_is_missing_only_if_ranger_says_so_when_asked_for_it() -> None:
    assert missing(Listed())
    assert not missing(Listed(hidden=ours()))
    with pytest.raises(AccessForbidden):  # the list of an account that lost its rights is empty
        missing(Listed(forbidden=True))


def test_an_entity_that_nobody_knows_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"knows `application:ns1\.shop`"):
        gather_facts([row(State.APPLIED)], [ours()], None, SETTINGS, Listed(ours()), [APP])


SENTENCES = {
    "unrecorded": (find_drift([row(State.KNOWN, creator=None)], [ours()], None, SETTINGS),
                   "policy 7 grants `alice` access that the ledger does not record", "--adopt, --release, --revoke"),
    "stale": (find_drift([row(State.CLOSED)], [ours()], None, SETTINGS),
                 "policy 7 still grants `alice` access, but its life 1 has ended", "--release, --revoke"),
    "entity_deleted": (find_drift([row(State.APPLIED)], [ours()], inventory(), SETTINGS),
             "the grant of `alice` is applied, but the inventory does not have the entity", "--release, --revoke"),
    "missing": (find_drift([row(State.APPLIED)], [], None, SETTINGS),
                "policy 7 of `alice` was deleted manually", "--adopt, --release"),
    "edited": (find_drift([row(State.APPLIED)], [EDITED], None, SETTINGS),
               "policy 7 no longer gives `alice` their right, which a person took", "--adopt, --release"),
    "outdated": (find_drift([row(State.APPLIED)], [ours()], None, replace(SETTINGS, gives={"dataset": ("admin",)})),
                 "the grant of `alice` is by former settings (not recorded)", "sync regrant"),
    "unknown": (find_drift([], [], inventory(KV), SETTINGS),
                "exists, but the ledger does not know it: anyone who touches it may become its creator",
                "sync baseline"),
}  # fmt: skip


@pytest.mark.parametrize(("found", "sentence", "remedy"), SENTENCES.values(), ids=SENTENCES)
def test_a_finding_says_what_it_is_and_what_settles_it(
    found: list[DriftFinding], sentence: str, remedy: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_comparison(TABLE, tuple(found), (), None)
    line = capsys.readouterr().out.splitlines()[1]
    assert "dataset:ns1.kv" in line
    assert sentence in line
    assert line.rstrip().endswith(remedy)


def test_what_was_settled_and_that_ranger_comes_later(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(TABLE, (), tuple(find_drift([row(State.APPLIED)], [], None, SETTINGS)), RepairAction.ADOPT)
    text = capsys.readouterr().out
    assert "settled by --adopt: 1. Ranger is unchanged; the next `ranger-cdap sync run` sends" in text


def test_no_drift(capsys: pytest.CaptureFixture[str]) -> None:
    print_comparison(TABLE, (), (), None)
    assert capsys.readouterr().out == "no drift: ledger and Ranger agree\n"


def test_a_finding_for_programs() -> None:
    (found,) = find_drift([row(State.APPLIED)], [EDITED], None, SETTINGS)
    assert json.loads(json.dumps(to_json(found))) == {
        "kind": "edited",
        "entity": "dataset:ns1.kv",
        "life": 1,
        "state": "applied",
        "creator": "alice",
        "policy_id": 7,
        "what": "policy 7 no longer gives `alice` their right, which a person took",
        "actions": ["adopt", "release"],
    }


def test_former_names_of_drift_stay_in_json() -> None:
    (found,) = find_drift([row(State.APPLIED)], [ours()], inventory(), SETTINGS)
    document = to_json(found)
    assert document["kind"] == "entity_deleted"


def test_what_an_assignment_and_forgetting_say(capsys: pytest.CaptureFixture[str]) -> None:
    lives = [row(State.APPLIED)]
    print_changes(TABLE, assign(KV, lives, "bob", ALL, non_creators=(), decided=0))
    assert capsys.readouterr().out.splitlines() == [
        "dataset:ns1.kv: the grant of `alice` is to be revoked",
        "dataset:ns1.kv: `bob` is its creator; their grant is pending",
        "the next `ranger-cdap sync run` sends it",
    ]
    print_changes(TABLE, forget(KV, [row(State.UNCONFIRMED)], decided=0))
    assert capsys.readouterr().out == "dataset:ns1.kv: it has no creator\n"
    contested = row(State.CONTESTED, creator=None, candidates=("alice", "bob"), former="alice", revoke=True)
    print_changes(TABLE, assign(KV, [contested], "bob", ALL, non_creators=(), decided=0))
    assert "the grant of `alice` is to be revoked" in capsys.readouterr().out


UNSURE = "creator undecidable: overlapping requests of different users"
REPORT = StatusReport(
    now=90_061_000,
    counts={State.PENDING: 2, State.APPLIED: 1},
    baseline=0,
    waiting=(
        row(State.PENDING, number=2),
        row(State.PENDING, APP),
        row(State.BLOCKED, reason="policy 9 is there"),
        row(State.CONTESTED, creator=None, candidates=("carol", "dave"), reason=UNSURE),
        row(State.CONTESTED, APP, creator=None),
        row(State.SUSPENDED, creator="erin", reason="a request of `frank` may have deleted it"),
        row(State.UNCONFIRMED, creator=None, candidates=("grace", "heidi"), reason="an allowed request has no record"),
    ),
    newest=1_000,
    held_back=3,
    ahead=2,
    clocks_ahead=("fast",),
    silent=("records", "fast"),
    dead_letters=4,
    journal_lost=False,
    outdated=None,
    observation=Observation(),
)


def test_the_state_of_the_job_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    status_command.print_status(TABLE, REPORT)
    text = capsys.readouterr().out
    for line in (
        "baseline: 1970-01-01T00:00:00+00:00",
        "decided: events until 1970-01-01T00:00:01+00:00, 1 day, 1:01:00 ago",
        "held back: 3 events, which the next runs decide",
        "in the future: 2 events; a clock was or is ahead",
        "clock ahead: that of the decision service of source `fast`, by more than 15 minutes",
        "silent: the decision service of source `records`; its events are decided after the hold-back",
        "oldest pending: application:ns1.shop for `alice`, for 1 day, 1:01:00",
        "dead letters: 4 lines were rejected",
        "policy 9 is there",
        "`ranger-cdap sync assign ENTITY USER --reason TEXT`",
    ):
        assert line in text


@pytest.mark.parametrize(
    "cells",
    [
        ("contested", "candidates", "why"),
        ("dataset:ns1.kv", "carol, dave", UNSURE),
        ("application:ns1.shop", "unknown"),
        ("suspended", "creator", "why"),
        ("dataset:ns1.kv", "erin", "a request of `frank` may have deleted it"),
        ("unconfirmed", "candidates", "why"),
        ("dataset:ns1.kv", "grace, heidi", "an allowed request has no record"),
    ],
    ids=lambda cells: cells[1],
)
def test_who_may_be_a_creator_is_shown_with_the_reason(
    cells: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    status_command.print_status(TABLE, REPORT)
    assert any(all(cell in line for cell in cells) for line in capsys.readouterr().out.splitlines())


def test_a_baseline_from_before_the_journal_was_lost_is_said_not_to_count(capsys: pytest.CaptureFixture[str]) -> None:
    sentence = "the baseline no longer counts: a check journal was replaced since; take a new inventory"
    status_command.print_status(TABLE, REPORT)
    assert sentence not in capsys.readouterr().out
    status_command.print_status(TABLE, replace(REPORT, journal_lost=True))
    assert sentence in capsys.readouterr().out


def test_a_job_that_never_ran(capsys: pytest.CaptureFixture[str]) -> None:
    status_command.print_status(TABLE, replace(REPORT, now=1, counts={}, baseline=None, waiting=(), newest=None))
    text = capsys.readouterr().out
    assert "baseline: none; ambiguous events stay unconfirmed" in text
    assert "decided: no events yet" in text
    assert "oldest pending" not in text


def test_the_state_of_the_job_for_programs() -> None:
    found = json.loads(json.dumps(status_command.to_json(REPORT)))
    assert (found["lag"], found["held_back"], found["dead_letters"]) == (90_060, 3, 4)
    assert found["counts"] == {state.value: 0 for state in State} | {"pending": 2, "applied": 1}
    assert found["oldest_pending"]["entity"] == "application:ns1.shop"
    assert (found["ahead"], found["clocks_ahead"]) == (2, ["fast"])
    assert (found["silent"], found["journal_lost"]) == (["records", "fast"], False)
    contested = next(life for life in found["waiting"] if life["state"] == "contested")
    assert (contested["creator"], contested["candidates"]) == (None, ["carol", "dave"])
    assert status_command.to_json(replace(REPORT, newest=None))["lag"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["reconcile", "--adopt", "--revoke"], "contradict each other"),
        (["reconcile", "kv"], "`kv` is not an entity"),
        (["retry", "dataset:kv"], "needs 2 parts (namespace, dataset)"),
        (["assign", "namespace:ns1"], "Missing argument 'USER'"),
        (["forget", "nothing:ns1"], "there is no entity type"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_refused_before_spark_starts(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sync", *arguments]) == 3
    assert message in capsys.readouterr().err
