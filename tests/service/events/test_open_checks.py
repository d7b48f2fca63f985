"""A user has a limited number of creations without a known end; records of any status, and time, free them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.cdap.checks.master import MasterCreate
from ranger_cdap.service.events.check_journal import MOST_OF_A_USER, OpenChecks
from tests.service.event_samples import stamp, stamped, stored_in
from tests.service.fixtures import World, serving
from tests.service.journal_fixtures import APP, DELETE, EVERYTHING, EXECUTE, ask, figure, on_disk, question


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """A service over `EVERYTHING`, for one test."""
    with serving(EVERYTHING, tmp_path) as running:
        yield running


TOO_MANY = "alice has 1,000 creations in progress; try again when CDAP has reported how they ended"


def fill(world: World, user: str, count: int = MOST_OF_A_USER) -> list[str]:
    assert world.state.events is not None
    ids = [f"{0xF00 + n:032x}" for n in range(count)]
    for id_ in ids:
        assert world.state.events.journal.open.open(id_, user, MOST_OF_A_USER)
    return ids


def test_a_user_with_too_many_open_creations_creates_no_more(world: World, events: Path) -> None:
    fill(world, "alice", MOST_OF_A_USER - 1)
    assert ask(world, question(check=stamp(1)))["allowed"]
    assert figure(world, "checks_open") == MOST_OF_A_USER
    for _ in range(2):
        denied = ask(world, question(check=stamp(2)))
        assert (denied["allowed"], denied["enforced"], denied["cacheable"]) == (False, True, False)
        assert denied["reason"] == TOO_MANY
    assert ask(world, question(check=stamp(3), permissions=[DELETE]))["allowed"], "what creates nothing is not limited"
    assert ask(world, question(check=stamp(4), of=APP, permissions=[EXECUTE], hint="X.run"))["allowed"]
    assert [line["id"] for line in on_disk(events)] == [stamp(n)["id"] for n in (1, 3, 4)]


@pytest.mark.parametrize("code", [200, 403, 409, 500, 0])
def test_a_record_of_any_status_closes_its_checks(world: World, code: int) -> None:
    first, *_ = fill(world, "alice")
    assert not ask(world, question())["allowed"]
    record = stamped(code=code, check_id=first, check_allowed=code != 403)
    assert world.ask("audit", "POST", "/cdap/v1/audit", {"records": [record]}).json["stored"] == 1
    assert ask(world, question(check=stamp(1)))["allowed"]
    assert ask(world, question(check=stamp(2)))["reason"] == TOO_MANY


def test_a_record_that_is_refused_closes_nothing(world: World) -> None:
    first, *_ = fill(world, "alice")
    world.ask("audit", "POST", "/cdap/v1/audit", {"records": [stamped(check_id=first, instance="prod")]})
    assert ask(world, question())["reason"] == TOO_MANY


@pytest.mark.parametrize("user", ["cdap", "root"])
def test_the_master_user_and_non_creators_have_no_limit(tmp_path: Path, events: Path, user: str) -> None:
    with serving(EVERYTHING, tmp_path, master=MasterCreate.ALLOW) as world:
        fill(world, user)
        assert ask(world, question(user=user))["allowed"]
    assert [line["check"]["principal"] for line in stored_in(events)] == [user]


@pytest.mark.parametrize(("records", "limited"), [(True, True), (None, True), (False, False)])
def test_where_no_records_are_delivered_there_is_no_limit(world: World, records: bool | None, limited: bool) -> None:
    fill(world, "alice")
    hello = {"extension": "0.1.0"} | ({} if records is None else {"records": records})
    assert world.ask("enforce", "POST", "/cdap/v1/hello", hello).status == 200
    assert ask(world, question())["allowed"] is not limited


OPENS = st.tuples(st.just("open"), st.integers(0, 9), st.sampled_from(["alice", "bob"]))
STEPS = st.lists(
    OPENS | st.tuples(st.just("close"), st.integers(0, 9)) | st.tuples(st.just("pass"), st.integers(1, 9)), max_size=40
)


@given(STEPS)
def test_a_check_is_open_until_its_record_or_its_time(steps: list[tuple[Any, ...]]) -> None:
    """Against a model: at most three of a user, seven in all, for ten seconds."""
    now = 0.0
    checks = OpenChecks(10.0, most=7, clock=lambda: now)
    model: dict[str, tuple[str, float]] = {}
    for step in steps:
        match step:
            case ("open", number, user):
                model = {id_: of for id_, of in model.items() if now - of[1] < 10}
                fits = str(number) in model or sum(of == user for of, _ in model.values()) < 3
                assert checks.open(str(number), user, 3) is fits
                if fits:
                    model.setdefault(str(number), (user, now))
                if len(model) > 7:
                    del model[next(iter(model))]
            case ("close", number):
                checks.close([str(number), "unknown"])
                model.pop(str(number), None)
            case (_, seconds):
                now += seconds
        model = {id_: of for id_, of in model.items() if now - of[1] < 10}
        assert len(checks) == len(model)
