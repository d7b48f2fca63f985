"""Laws of threads that compute: one at a time, in slices of steps; and a large body waits for its turn unparsed."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec

from ranger_cdap.service.api.routes import ApiRoute
from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.service.http.reply import Reply, json_reply
from ranger_cdap.service.http.turns import SLICE, Turns, give_way
from ranger_cdap.service.state.call import HandlerCall
from tests.service.fixtures import READ_AND_WRITE, serving

THREADS, TURNS_OF_EACH = 4, 5
PATIENCE = 20.0


def test_one_thread_computes_at_a_time_and_gives_way_after_a_slice_of_steps() -> None:
    turns, steps = Turns(), list[int]()
    all_wait = threading.Barrier(THREADS + 1)

    def compute(number: int) -> None:
        all_wait.wait(PATIENCE)
        with turns.taking():
            for _ in range(TURNS_OF_EACH * SLICE):
                steps.append(number)
                give_way()

    threads = [threading.Thread(target=compute, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    with turns.taking():
        all_wait.wait(PATIENCE)
        while turns.waiting < THREADS:
            time.sleep(0.001)
        assert not steps
    for thread in threads:
        thread.join(PATIENCE)
    slices = [(number, len(list(run))) for number, run in groupby(steps)]
    assert {length for _, length in slices} == {SLICE}
    order = [number for number, _ in slices]
    assert order == TURNS_OF_EACH * order[:THREADS]
    assert sorted(order[:THREADS]) == list(range(THREADS))


def test_without_turns_nothing_is_given_way() -> None:
    for _ in range(2 * SLICE):
        give_way()


def test_of_large_bodies_only_that_of_the_turn_is_parsed(tmp_path: Path) -> None:
    parsed, answers = list[int](), threading.Event()

    class Body(msgspec.Struct):
        @staticmethod
        def read(data: bytes) -> int:
            parsed.append(len(data))
            return len(data)

    def handle(call: HandlerCall) -> Reply:
        assert answers.wait(PATIENCE)
        return json_reply(call.body)

    route = ApiRoute("POST", "/large", frozenset({CallerRole.ENFORCE}), handle, "Test", Body, int, works=True)
    body = b"x" * 20_000
    with serving([], tmp_path, routes=[route]) as world, ThreadPoolExecutor(20) as pool:
        asked = [pool.submit(world.ask, "enforce", "POST", "/large", body) for _ in range(20)]
        while not parsed:
            time.sleep(0.001)
        # An answer from the event loop, which has received the other bodies meanwhile.
        for _ in range(20):
            assert world.ask(None, "GET", "/nothing").status == 404
        assert len(parsed) == 1
        answers.set()
        assert {one.result(PATIENCE).status for one in asked} == {200}


def test_a_long_list_is_decided_in_slices(tmp_path: Path, monkeypatch: Any) -> None:
    """Each slice has as many entities as a turn has steps, and all of them are answered in order."""
    slices = list[int]()
    entities = [{"type": "DATASET", "parts": ["ns1", "kv" if n % 3 else "none"]} for n in range(5 * SLICE // 2)]
    with serving(READ_AND_WRITE, tmp_path) as world:
        visible = world.state.enforcer.visible
        monkeypatch.setattr(
            world.state.enforcer, "visible", lambda user, some: slices.append(len(some)) or visible(user, some)
        )
        asked = {"principal": {"name": "bob"}, "entities": entities}
        answer = world.ask("enforce", "POST", "/cdap/v1/visible", asked)
    assert slices == [SLICE, SLICE, SLICE // 2]
    assert answer.json["visible"] == [bool(n % 3) for n in range(len(entities))]
