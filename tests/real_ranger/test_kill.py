"""Killed in the middle: whichever write was the last, the same command run again ends where it would have ended.

Law, for each command and each of its writes: SIGKILL after Ranger's answer, then the command again, makes the state
that one whole run makes, and a third run writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ranger_cdap.config import Settings
from ranger_cdap.ranger.changes.transfer import portable
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from spark_sync.grants.step_executor import StepExecutor
from spark_sync.ledger.life import State
from tests.real_ranger.estate import Estate, Json
from tests.real_ranger.killed import KILLED, Killer, killer
from tests.real_ranger.test_push import ENTITIES, write
from tests.spark_sync.grants.fixtures import MemoryLedger, Watched, gone, life, push_by


class Killed(BaseException):
    """What is raised where the process would be killed."""


@pytest.fixture
def kill(estate: Estate) -> Iterator[Killer]:
    with killer({"RANGER_CDAP_SETUP_PASSWORD": estate.address.password.reveal()}) as killer_:
        yield killer_


def outcome(estate: Estate) -> Json:
    """The settings of the service, its policies and the flow's roles, without what Ranger gives out: ids and times."""
    found = estate.admin.get_service(estate.service) or {}
    own = [role for role in estate.listed("roles") if role["name"].startswith(estate.token)]
    roles = {role["name"]: [role.get(kind, []) for kind in ("users", "groups", "description")] for role in own}
    policies = {name: portable(policy) for name, policy in estate.policies().items()}
    return {"configs": found.get("configs"), "policies": policies, "roles": roles}


Prepare = Callable[[Estate], tuple[str, ...]]


def setup(estate: Estate) -> tuple[str, ...]:
    named = ("--set", f"admin.users={estate.user('ann')}", "--set", f"master.user={estate.user('master')}")
    return (*named, "setup", "--yes")


def another_administrator(estate: Estate) -> tuple[str, ...]:
    assert estate.run("--set", f"admin.users={estate.user('carol')}", "setup", "--yes") == 0
    return ("--set", f"admin.users={estate.user('ann')}", "setup", "--yes")


def apply(estate: Estate) -> tuple[str, ...]:
    """Create, update and delete policies."""
    estate.set_up()
    files, changed = estate.directory / "policies", estate.directory / "changed"
    write(files, estate, ns1="alice", ns2="alice", ns3="bob")
    assert estate.run("policies", "apply", str(files), "--yes") == 0
    write(changed, estate, ns2="bob", ns4="alice", ns5="bob")
    return ("policies", "apply", "--delete", str(changed), "--yes")


def roles_apply(estate: Estate) -> tuple[str, ...]:
    estate.set_up()
    name = ("--name", estate.name("developer"), "--group", estate.group("crew"))
    return ("roles", "apply", "developer", "--namespace", "sales", *name, "--yes")


def roles_remove(estate: Estate) -> tuple[str, ...]:
    assert estate.run(*roles_apply(estate)) == 0
    return ("roles", "remove", "developer", "--namespace", "sales", "--name", estate.name("developer"), "--yes")


COMMANDS: dict[str, Prepare] = {
    "setup": setup,
    "setup with another administrator": another_administrator,
    "policies apply --delete": apply,
    "roles apply": roles_apply,
    "roles remove": roles_remove,
}


@pytest.mark.slow
@pytest.mark.parametrize("prepare", COMMANDS.values(), ids=COMMANDS)
def test_a_killed_command_run_again_ends_as_one_that_was_not(estate: Estate, kill: Killer, prepare: Prepare) -> None:
    words = estate.command(*prepare(estate))
    assert kill.run(0, words) == 0
    whole, number = outcome(estate), 0
    while True:
        number += 1
        estate.begin_again()
        prepare(estate)
        if (ended := kill.run(number, words)) != KILLED:
            break
        assert kill.run(0, words) == 0, number
        assert outcome(estate) == whole, number
        versions = estate.versions()
        assert kill.run(0, words) == 0, number
        assert estate.versions() == versions, number
    assert ended == 0
    assert outcome(estate) == whole
    assert number > 2  # it has at least two writes


@pytest.mark.parametrize("at", ["before", "after"])
@pytest.mark.parametrize("what", ["creations", "deletions"])
def test_a_push_killed_at_a_request_is_completed_by_the_next(estate: Estate, what: str, at: str) -> None:
    estate.set_up()
    alice, before = estate.user("alice"), estate.policies()
    settings = estate.settings
    killed, number = True, 0
    with estate.client(estate.name("sync")) as sync:
        while killed:
            number += 1
            creating = MemoryLedger([life(alice, entity) for entity in ENTITIES])
            killed = what == "creations" and killed_at(number, at, creating, settings, sync)
            assert push_by(settings, creating).error is None
            assert creating.states() == {State.APPLIED: len(ENTITIES)}
            new = [policy for name, policy in estate.policies().items() if name not in before]
            assert len(new) == len(ENTITIES)
            assert all(item["users"] == [alice] for policy in new for item in policy["policyItems"])
            closing = MemoryLedger([gone(applied) for applied in creating.rows.values()])
            killed |= what == "deletions" and killed_at(number, at, closing, settings, sync)
            assert push_by(settings, closing).error is None
            assert (closing.states(), estate.policies()) == ({State.CLOSED: len(ENTITIES)}, before)
    assert number > len(ENTITIES)


def killed_at(number: int, at: str, ledger: MemoryLedger, settings: Settings, sync: RangerAdmin) -> bool:
    """Push until just before or after the n-th request; whether there was one."""

    def die(_: str, n: int) -> None:
        if n == number:
            raise Killed

    watched: Any = Watched(sync, **{at: die})
    try:
        push_by(settings, ledger, watched, executor=StepExecutor(1, 20.0))
    except Killed:
        return True
    return False
