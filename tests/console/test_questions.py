"""A question of the console: one at a time, one per caller, within a deadline, after which the console starts again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ranger_cdap.console import answers, views
from ranger_cdap.service.http.callers import CallerRole
from tests.console.fixtures import ConsoleWorld, Page, serving
from tests.service.fixtures import READ_AND_WRITE, caller

WHAT = "/what?user=alice"
SOME = [caller(name, CallerRole.DELEGATE) for name in ("ann", "bob")]


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Questions about a user begin (the first event), and end at the second one."""
    begun, ends = threading.Event(), threading.Event()
    usual = answers.what_answer

    def answer(form: object, authorizer: object) -> object:
        begun.set()
        assert ends.wait(60)
        return usual(form, authorizer)  # type: ignore[arg-type]

    monkeypatch.setattr(views, "what_answer", answer)
    yield begun, ends
    ends.set()


def test_a_caller_has_one_question_at_a_time(held: tuple[threading.Event, threading.Event]) -> None:
    begun, ends = held
    with serving(READ_AND_WRITE, callers=SOME) as world, ThreadPoolExecutor() as pool:
        first = pool.submit(world.ask, "ann", "GET", WHAT)
        assert begun.wait(60)
        second = world.ask("ann", "GET", "/who?entity=dataset:ns1.kv")
        assert (second.status, second.headers["retry-after"]) == (429, "1")
        assert "your previous question is still being answered" in Page(second).text
        assert world.ask("ann", "GET", "/what").status == 200, "an empty form is no question"
        other = pool.submit(world.ask, "bob", "GET", "/who?entity=dataset:ns1.kv")
        ends.set()
        assert (first.result().status, other.result().status) == (200, 200)
        assert world.ask("ann", "GET", WHAT).status == 200
        assert world.restarts == []


def test_who_waits_too_long_for_others_is_told_so(held: tuple[threading.Event, threading.Event]) -> None:
    begun, ends = held
    with serving(READ_AND_WRITE, callers=SOME, max_wait=0.2) as world, ThreadPoolExecutor() as pool:
        first = pool.submit(world.ask, "ann", "GET", WHAT)
        assert begun.wait(60)
        other = world.ask("bob", "GET", "/who?entity=dataset:ns1.kv")
        assert (other.status, "busy with questions of others" in Page(other).text) == (503, True)
        ends.set()
        assert first.result().status == 200
        assert world.ask("bob", "GET", "/who?entity=dataset:ns1.kv").status == 200


def test_an_answer_that_takes_too_long_is_refused_and_the_console_starts_again(
    held: tuple[threading.Event, threading.Event],
) -> None:
    with serving(READ_AND_WRITE, max_seconds=0.2) as world:
        answer = world.ask("delegate", "GET", WHAT)
        assert answer.status == 503
        assert "the answer takes more than 0.2 s" in Page(answer).text
        assert "use `ranger-cdap access --user`" in Page(answer).text
        assert world.restarts == ["again"]


def test_so_it_does_when_memory_is_short(world: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(views, "ask_answer", short)
    answer = world.ask("delegate", "GET", "/?user=a&operation=dataset.get&entity=dataset:ns1.kv")
    assert answer.status == 503
    assert "needs more memory" in Page(answer).text
    assert "use `ranger-cdap check --why`" in Page(answer).text
    assert world.restarts.pop() == "again"


def test_a_fault_is_one_callers_problem(world: ConsoleWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "ask_answer", lambda *_: 1 / 0)
    answer = world.ask("delegate", "GET", "/?user=a&operation=dataset.get&entity=dataset:ns1.kv")
    assert (answer.status, world.restarts) == (500, [])
    assert world.ask("delegate", "GET", WHAT).status == 200
