"""The push where Ranger Admin answers with conflicts and failures, is away, or is restarted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.config import Secret
from ranger_cdap.errors import AdminFailed, AdminUnreachable, ConflictingChange, UnexpectedAnswer
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.testing.admin import EmbeddedAdmin
from spark_sync.grants.step_executor import FAILURES, TRIES
from spark_sync.ledger.life import State
from tests.spark_sync.conftest import PASSWORD, Ranger, register_cdap
from tests.spark_sync.grants.fixtures import (
    MemoryLedger,
    Watched,
    datasets,
    gone,
    pushed,
    states,
)


def test_ranger_answers_conflict_to_every_third_request(ranger: Ranger) -> None:
    """One at a time: of several at a time the same one could meet every conflict."""

    def conflict(_: str, number: int) -> None:
        if number % 3 == 0:
            raise ConflictingChange("another change")

    ledger = MemoryLedger(datasets(30))
    found = pushed(ranger, ledger, Watched(ranger.sync, before=conflict), size=1)
    assert (found.trouble, ledger.states()) == ("", {State.APPLIED: 30})
    assert len(ranger.policies()) == 30
    ledger = MemoryLedger([gone(life) for life in ledger.lives([State.APPLIED])])
    pushed(ranger, ledger, Watched(ranger.sync, before=conflict), size=1)
    assert (ledger.states(), ranger.policies()) == ({State.CLOSED: 30}, [])


def failing(ranger: Ranger, error: Exception, names: set[str]) -> Watched:
    class Failing(Watched):
        def create_policy(self, policy: Any) -> Any:
            if policy.resources["dataset"].values[0] in names:
                self.names.append("create_policy")
                raise error
            return ranger.sync.create_policy(policy)

    return Failing(ranger.sync)


@pytest.mark.slow
def test_what_always_conflicts_stays_owed_and_holds_up_nobody(ranger: Ranger) -> None:
    first, *others = datasets(4)

    ledger = MemoryLedger([first, *others])
    stuck = failing(ranger, ConflictingChange("another change"), {first.entity.parts[-1]})
    found = pushed(ranger, ledger, stuck)
    assert (found.trouble, states(found)) == ("", [State.PENDING] + [State.APPLIED] * 3)
    assert found.outcomes[0].life.reason == "another change"
    assert stuck.writes == ["create_policy"] * TRIES


def test_one_grant_that_ranger_fails_at_is_told_and_holds_up_nobody(ranger: Ranger) -> None:
    ledger = MemoryLedger(datasets(8))
    found = pushed(ranger, ledger, failing(ranger, UnexpectedAnswer("garbage"), {"d003"}))
    assert (found.trouble, ledger.states()) == ("garbage", {State.APPLIED: 7, State.PENDING: 1})


def test_a_ranger_that_fails_at_everything_is_soon_left_alone(ranger: Ranger) -> None:
    ledger = MemoryLedger(datasets(60))
    names = {life.entity.parts[-1] for life in datasets(60)}
    broken = failing(ranger, UnexpectedAnswer("garbage"), names)
    found = pushed(ranger, ledger, broken)
    assert (found.trouble, ledger.states()) == ("garbage", {State.PENDING: 60})
    assert len(broken.names) < FAILURES + 4


def test_a_failure_of_ranger_itself_is_tried_again(ranger: Ranger) -> None:
    def fail(_: str, number: int) -> None:
        if number in (1, 2, 5):
            raise AdminFailed("status 500")

    ledger = MemoryLedger(datasets(4))
    assert pushed(ranger, ledger, Watched(ranger.sync, before=fail)).trouble == ""
    assert ledger.states() == {State.APPLIED: 4}


def test_a_wrong_password_is_tried_once(ranger: Ranger) -> None:
    ledger = MemoryLedger(datasets(12))
    with RangerAdmin(AdminConnection(ranger.url, username="svc", password=Secret("Wrong-Passw0rd"))) as wrong:
        watched = Watched(wrong)
        found = pushed(ranger, ledger, watched)
    assert "rejected the user name and password" in found.trouble
    assert (len(watched.names), ledger.states()) == (1, {State.PENDING: 12})


def test_an_account_without_rights_is_told_and_everything_stays_owed(ranger: Ranger) -> None:
    ledger = MemoryLedger(datasets(12))
    with RangerAdmin(AdminConnection(ranger.url, username="bob", password=Secret(PASSWORD))) as bob:
        found = pushed(ranger, ledger, bob)
    assert "is forbidden" in found.trouble
    assert (ledger.states(), ranger.policies()) == ({State.PENDING: 12}, [])


def test_with_ranger_away_all_stays_owed_and_what_was_done_is_recorded(ranger: Ranger) -> None:
    def away(_: str, number: int) -> None:
        if number > 6:  # zones are read first
            raise AdminUnreachable("nobody there")

    ledger = MemoryLedger(datasets(12))
    began = time.monotonic()
    found = pushed(ranger, ledger, Watched(ranger.sync, before=away), patience=0.5)
    assert 0.5 <= time.monotonic() - began < 10
    assert (found.trouble, ledger.states()) == ("nobody there", {State.APPLIED: 5, State.PENDING: 7})
    assert pushed(ranger, ledger).trouble == ""
    assert ledger.states() == {State.APPLIED: 12}


@pytest.fixture
def restarting(tmp_path: Path) -> Iterator[tuple[Ranger, Callable[[], None]]]:
    """A Ranger Admin of its own, and how to stop it and start it again a moment later."""
    database = tmp_path / "ranger.db"
    servers = [EmbeddedAdmin(database, admin_password=PASSWORD)]
    servers[0].start()
    url = servers[0].url

    def restart() -> None:
        servers[-1].stop()
        time.sleep(0.5)  # how long it is away
        servers.append(EmbeddedAdmin(database, admin_password=PASSWORD, port=int(url.rsplit(":", 1)[1])))
        servers[-1].start()

    with (
        RangerAdmin(AdminConnection(url, username="admin", password=Secret(PASSWORD))) as admin,
        RangerAdmin(AdminConnection(url, username="sync", password=Secret(PASSWORD), attempts=1)) as sync,
    ):
        register_cdap(admin)
        rights = {"service.admin.users": "sync", "policy.download.auth.users": "sync"}
        admin.create_service({"name": "cdapdev", "type": "cdap", "isEnabled": True, "configs": rights})
        yield Ranger("cdapdev", url, admin, sync), restart
    servers[-1].stop()


def test_ranger_is_restarted_in_the_middle(restarting: tuple[Ranger, Callable[[], None]]) -> None:
    ranger, restart = restarting
    restarts: list[threading.Thread] = []

    def at_the_tenth(_: str, number: int) -> None:
        if number == 10:
            restarts.append(threading.Thread(target=restart))
            restarts[0].start()

    ledger = MemoryLedger(datasets(60))
    found = pushed(ranger, ledger, Watched(ranger.sync, before=at_the_tenth))
    restarts[0].join()
    assert (found.trouble, ledger.states()) == ("", {State.APPLIED: 60})
    assert len(ranger.policies()) == 60
