"""The push against the embedded Ranger Admin: several at a time, in order, through kills."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import Secret
from ranger_cdap.errors import RequestRejected
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from spark_sync.grants import push as pushing
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.ledger.life import PUSH_STATES, Life, State
from tests.spark_sync.conftest import PASSWORD, Ranger
from tests.spark_sync.grants.fixtures import (
    DATASET,
    MemoryLedger,
    Watched,
    datasets,
    gone,
    life,
    pushed,
    pushed_by,
    send,
    settings,
    states,
)


class Killed(BaseException):
    """What a test raises where the process would be killed."""


def test_what_is_owed_is_sent_and_recorded_in_the_order_of_the_plan(ranger: Ranger) -> None:
    ledger = MemoryLedger(datasets(20))
    found = pushed(ranger, ledger)
    assert [str(outcome.life.entity) for outcome in found.outcomes] == [f"dataset:ns1.d{n:03}" for n in range(20)]
    assert (found.trouble, ledger.states()) == ("", {State.APPLIED: 20})
    assert len(ranger.policies()) == 20
    version = ranger.policy_version()
    assert pushed(ranger, ledger).outcomes == []
    assert ranger.policy_version() == version


@pytest.mark.parametrize(
    ("done", "total", "seconds", "text"),
    [
        (50, 1_000_000, 0.5, "50 of 1,000,000, 100/s, 2:46:40 left"),
        (999_900, 1_000_000, 9_999.0, "999,900 of 1,000,000, 100/s, 0:00:01 left"),
        (50, 100, 500.0, "50 of 100, 0/s, 0:08:20 left"),  # a slow one is not divided by zero
        (50, 100, 0.0, "50 of 100, 50,000/s, 0:00:00 left"),  # nor a clock that stands still
        (100, 50, 10.0, "100 of 100, 10/s, 0:00:00 left"),  # more than was counted, as doubted ones that are revoked
    ],
)
def test_progress_says_how_long_the_others_take(done: int, total: int, seconds: float, text: str) -> None:
    assert pushing.progress_text(done, total, seconds) == text


def test_progress_is_shown_while_grants_are_sent(ranger: Ranger) -> None:
    shown, ledger = list[str](), MemoryLedger(datasets(120))
    planning = plan_settings(settings(ranger))
    found = pushed_by(ledger, ranger.sync, planning, progress=shown.append)
    assert found.trouble == ""
    assert [text.split(",")[0] for text in shown] == [f"{pushing.SENDING}: {done} of 120" for done in (50, 100)]


@pytest.mark.parametrize("size", [1, 4])
def test_so_many_at_a_time_and_no_more(ranger: Ranger, size: int) -> None:
    together = threading.Barrier(size)
    lock = threading.Lock()
    now, most = 0, 0

    def before(_: str, number: int) -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        if number > 2:  # zones are read, and the first goes alone
            together.wait(timeout=20)

    def after(_: str, __: int) -> None:
        nonlocal now
        with lock:
            now -= 1

    ledger = MemoryLedger(datasets(1 + 3 * size))
    pushed(ranger, ledger, Watched(ranger.sync, before=before, after=after), size=size)
    assert most == size
    assert ledger.owes_nothing


def test_what_is_not_sent_is_recorded_too(ranger: Ranger) -> None:
    unsafe, gone_unsafe = life("public"), life("public", state=State.CLOSING, number=2)
    ledger = MemoryLedger([unsafe, gone_unsafe])
    found = pushed(ranger, ledger)
    assert (states(found), ledger.states()) == (
        [State.CLOSED, State.BLOCKED],
        {State.BLOCKED: 1, State.CLOSED: 1},
    )
    assert "`public` does not identify a single user" in ledger.rows[DATASET, 1].reason
    assert pushed(ranger, ledger).outcomes == []


def test_the_next_life_is_not_given_before_the_one_before_is_taken_back(ranger: Ranger) -> None:
    (applied,) = send(ranger, life())
    ledger = MemoryLedger([gone(applied), life("bob", number=2), *datasets(3)])

    def refuse(name: str, _: int) -> None:
        if name == "delete_policy":
            raise RequestRejected("not now")

    found = pushed(ranger, ledger, Watched(ranger.sync, before=refuse))
    assert ledger.states() == {State.APPLIED: 3, State.CLOSING: 1, State.PENDING: 1}
    assert (found.trouble, len(ranger.policies())) == ("", 4)
    (waiting,) = ledger.lives((State.PENDING,))
    assert waiting.reason == f"it waits until the grant of `alice` on the former {waiting.entity} is revoked: not now"
    pushed(ranger, ledger)
    assert ledger.states() == {State.APPLIED: 4, State.CLOSED: 1}
    assert {item.users[0] for policy in ranger.policies() for item in policy.policy_items} == {"alice", "bob"}


def test_a_policy_deleted_by_hand_is_not_reported_as_revoked(ranger: Ranger) -> None:
    applied = send(ranger, *datasets(2))
    ranger.admin.delete_policy(applied[0].policy_id)
    found = pushed(ranger, MemoryLedger(map(gone, applied)))
    assert [(outcome.life.state, outcome.revoked) for outcome in found.outcomes] == [
        (State.CLOSED, False),
        (State.CLOSED, True),
    ]


@pytest.mark.slow
def test_an_unknown_user_is_tried_again_in_each_run(ranger: Ranger) -> None:
    name = f"newcomer-{ranger.service}"
    ledger = MemoryLedger([life(name), *datasets(2)])
    for _ in range(2):
        found = pushed(ranger, ledger)
        assert (found.trouble, ledger.lives(PUSH_STATES)) == (
            "",
            [life(name, reason=f"unknown user: Ranger has no `{name}`")],
        )
        ledger.rows = {key: one for key, one in ledger.rows.items() if one.state is State.PENDING}
    ranger.admin.create_user(name, Secret(PASSWORD))
    pushed(ranger, ledger)
    assert ledger.states() == {State.APPLIED: 1}


def world(ranger: Ranger) -> list[Life]:
    """A life for each kind of step: give, change, take back, give after that."""
    entity = EntityId("dataset", ("ns1", "again"))
    first, changing = send(ranger, life(entity=entity), life(entity=EntityId("dataset", ("ns1", "changing"))))
    return [
        *datasets(1),
        changing.become(State.PENDING, accesses=("read",)),
        gone(first),
        life("bob", entity, number=2),
    ]


def rights(ranger: Ranger) -> list[tuple[str, ...]]:
    """Who may do what where, whatever the items it stands in."""
    return sorted(
        (*(one.values[0] for _, one in sorted(policy.resources.items())), user, access.type)
        for policy in ranger.policies()
        for item in policy.policy_items
        for user in item.users
        for access in item.accesses
    )


@pytest.mark.slow
def test_a_kill_at_any_request_ends_in_the_same_state(
    embedded: tuple[str, RangerAdmin, RangerAdmin], new_ranger: Callable[[], Ranger]
) -> None:
    undisturbed = new_ranger()
    ledger = MemoryLedger(world(undisturbed))
    watched = Watched(undisturbed.sync)
    pushed(undisturbed, ledger, watched, size=1)
    assert ledger.states() == {State.APPLIED: 3, State.CLOSED: 1}

    for at in range(1, len(watched.names) + 1):
        for moment in ("before", "after"):
            ranger = new_ranger()

            def kill(_: str, number: int, at: int = at) -> None:
                if number == at:
                    raise Killed

            again = MemoryLedger(world(ranger))
            with pytest.raises(Killed):
                pushed(ranger, again, Watched(ranger.sync, **{moment: kill}), size=1)
            pushed(ranger, again)
            assert {key: one.state for key, one in again.rows.items()} == {
                key: one.state for key, one in ledger.rows.items()
            }, (at, moment)
            assert rights(ranger) == rights(undisturbed), (at, moment)


def test_a_long_push_is_recorded_piece_by_piece(ranger: Ranger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushing, "CHUNK", 5)

    def kill(_: str, number: int) -> None:
        if number == 18:
            raise Killed

    ledger = MemoryLedger(datasets(20))
    with pytest.raises(Killed):
        pushed(ranger, ledger, Watched(ranger.sync, before=kill), size=1)
    assert ledger.states()[State.APPLIED] == 15


def test_a_bug_is_no_outcome(ranger: Ranger) -> None:
    """What is not Ranger's failure comes out, and nothing that was not done is recorded as done."""

    def bug(_: str, number: int) -> None:
        if number == 3:
            raise ZeroDivisionError

    ledger = MemoryLedger(datasets(6))
    with pytest.raises(ZeroDivisionError):
        pushed(ranger, ledger, Watched(ranger.sync, before=bug))
    assert pushed(ranger, ledger).trouble == ""
    assert (ledger.states(), len(ranger.policies())) == ({State.APPLIED: 6}, 6)


def test_reasons_of_the_past_are_gone_once_it_is_applied(ranger: Ranger) -> None:
    ledger = MemoryLedger([replace(life(), state=State.FAILED, reason="status 500")])
    pushed(ranger, ledger)
    assert [(one.state, one.reason) for one in ledger.rows.values()] == [(State.APPLIED, "")]
