"""Each step of `steps.py` on a real CDAP: exactly its privileges are needed, and a denial says which one is missing."""

from __future__ import annotations

import pytest

from tests.cdap_master.fixtures import World, wait_until
from tests.cdap_master.in_memory_cdap import CdapUser
from tests.cdap_master.steps import STEPS, WATCHES, Step

NOBODY, WATCHER = "bob", "alice"


def somebody(number: int, lacks: int | None = None) -> str:
    return f"carol-{number}" if lacks is None else f"carol-{number}-lacks-{lacks}"


def everybody() -> dict[str, tuple[str, ...]]:
    """For each step a person with exactly what it takes, and for each part of that a person without it."""
    people: dict[str, tuple[str, ...]] = {NOBODY: (), WATCHER: WATCHES}
    for number, step in enumerate(STEPS):
        people[somebody(number)] = step.takes
        for lacks in range(len(step.takes)):
            people[somebody(number, lacks)] = (*step.takes[:lacks], *step.takes[lacks + 1 :])
    return people


def test_every_step_takes_exactly_its_privileges(cdap_world: World, subtests: pytest.Subtests) -> None:
    cdap_world.people(everybody())
    for number, step in enumerate(STEPS):
        for lacks, privilege in enumerate(step.takes):
            with subtests.test(f"{step.what}: without {privilege}"):
                refused(cdap_world, step, somebody(number, lacks), privilege)
        with subtests.test(f"{step.what}: with nothing"):
            refused(cdap_world, step, NOBODY)
        with subtests.test(f"{step.what}: with all it takes"):
            user = cdap_world.user(somebody(number))
            answer = user.ask(step.request, step.sent, **step.headers)
            assert answer.ok, f"{answer.status_code} {answer.text}"
            if step.until:
                become(cdap_world.user(WATCHER), *step.until)


def become(watcher: CdapUser, question: str, status: str) -> None:
    wait_until(lambda: watcher.must(question).json()["status"] == status, status)


def refused(world: World, step: Step, person: str, privilege: str = "") -> None:
    """A 403 that names the person and what he lacks: the privilege, or that he does not see the namespace at all."""
    answer = world.user(person).ask(step.request, step.sent, **step.headers)
    assert answer.status_code == step.otherwise.get(privilege, 403), f"{answer.status_code} {answer.text}"
    if answer.status_code != 404:
        assert f" {person} needs {privilege.replace(' ', ' on ')}" in answer.text or (
            f" {person} needs any privilege on namespace:shop or in it" in answer.text
        )
