"""The state that threads share on the path of a decision: it is what the page lists, and no answer depends on it."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from benchmarks.workload import roles, service_policies
from ranger_cdap import EntityId, entity_id
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.profile import Operation, load_profile
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies
from tests.authz import fixtures as authorizer_world
from tests.authz.fixtures import Memory, policy
from tests.threads.shared_state import changed, remembered, snapshot

PAGE = Path(__file__).parents[2] / "docs/explanation/threads.md"
THREADS = 8

NAMES = [f"n{n}" for n in range(30)]
USERS = [f"user{n}" for n in range(12)]
POLICIES = [
    policy(1, {"namespace": "ns1"}, ["user1", "user2"], ["read"]),
    policy(2, {"namespace": "ns1", "dataset": "n1*"}, ["user1", "user3"], ["read", "write"]),
    policy(3, {"namespace": "ns1", "dataset": "n2"}, ["user4"], ["admin"], isAuditEnabled=False),
    policy(4, {"namespace": "ns1", "dataset": "{USER}"}, ["user5"], ["read"]),
    policy(5, {"namespace": "*", "artifact": "n?"}, ["user6"], ["read"]),
]
QUESTIONS: list[tuple[str, tuple[str, ...], str, EntityId]] = [
    (user, (f"group{number % 3}",), operation, entity_id(operation.partition(".")[0], ["ns1", name]))
    for number, user in enumerate(USERS)
    for name in NAMES
    for operation in ("dataset.get", "dataset.truncate", "artifact.get", "topic.get")
]


@contextmanager
def switching_often() -> Iterator[None]:
    """Let threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def in_threads(work: Callable[[int], object]) -> list[object]:
    together = threading.Barrier(THREADS)

    def begin(number: int) -> object:
        together.wait()
        return work(number)

    with switching_often(), ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(begin, range(THREADS)))


def shown(answer: Answer) -> tuple[object, ...]:
    return answer.allowed, answer.reason, answer.policy_ids, answer.conditional


def test_what_decisions_change_is_what_the_page_lists() -> None:
    """It is found by looking at every object behind an authorizer, before and after."""
    memory = Memory()
    authorizer = authorizer_world.authorizer(POLICIES, memory)
    authorizer.check(*QUESTIONS[0])
    before, results = snapshot(authorizer), remembered()
    for question in QUESTIONS:
        authorizer.check(*question)
    authorizer.visible("user1", (), [question[3] for question in QUESTIONS])
    found = changed(before, snapshot(authorizer)) - {"Memory.records"}
    found |= {name for name, count in remembered().items() if count > results.get(name, 0)}

    assert sorted(found - listed()) == [], "docs/explanation/threads.md lists what threads share"


def listed() -> set[str]:
    page = PAGE.read_text(encoding="utf-8")
    return set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE))


def test_every_line_of_the_page_names_state_that_exists() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (PAGE.parents[2] / "ranger_cdap").rglob("*.py"))
    for line in listed():
        owner, _, attribute = line.rpartition(".")
        assert re.search(rf"\b{re.escape(attribute)}\b", code), line
        assert re.search(rf"\b{re.escape(owner.rpartition('.')[2])}\b", code), line


@pytest.mark.parametrize("attempt", range(3))
def test_threads_that_ask_at_once_get_the_answers_of_one(attempt: int) -> None:
    alone, memory = Memory(), Memory()
    asked_by_one = authorizer_world.authorizer(POLICIES, alone)
    expected = [shown(asked_by_one.check(*question)) for question in QUESTIONS]
    authorizer = authorizer_world.authorizer(POLICIES, memory)

    def ask(number: int) -> bool:
        order = QUESTIONS[number * 97 % len(QUESTIONS) :] + QUESTIONS[: number * 97 % len(QUESTIONS)]
        found = {question: shown(authorizer.check(*question)) for question in order}
        return [found[question] for question in QUESTIONS] == expected

    assert in_threads(ask) == [True] * THREADS
    assert len(memory.records) == len({record.id for record in memory.records}) == THREADS * len(alone.records)


@pytest.mark.parametrize("bound", [1, 3])
def test_threads_whose_caches_are_full_get_the_answers_of_one(bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every bound is small here, so that each thread throws away what another is about to use."""
    for name, module in list(sys.modules.items()):
        if name.startswith("ranger_cdap.engine."):
            for constant in [
                one for one in vars(module) if re.fullmatch(r"_?MAX_(USERS|SHAPES|RESOURCES|.*CACHED.*)", one)
            ]:
                monkeypatch.setattr(module, constant, bound)
    test_threads_that_ask_at_once_get_the_answers_of_one(0)


def test_readers_of_an_old_set_are_unharmed_by_changes() -> None:
    """A set in use stays as it was, whatever sets are made of it meanwhile."""
    size = 200
    raw = msgspec.json.decode(service_policies(size))
    engine = PolicyEngine.build(
        decode_service_policies(msgspec.json.encode(raw)), roles=decode_roles(roles()), service="cdapdev"
    )
    asked = [
        AccessRequest({"instance": "cdap", "namespace": f"ns{n % 20}", "dataset": f"ds{n}"}, "read", f"user{n % 50}")
        for n in range(400)
    ]
    expected = list(map(engine.evaluate, asked))
    ended = threading.Event()

    def work(number: int) -> bool:
        if number:
            same = True
            while not ended.is_set():
                same = same and list(map(engine.evaluate, asked)) == expected
            return same
        newer = engine
        for version in range(1, 120):
            one = {**raw["policies"][version % size], "version": version, "policyItems": []}
            change = {"changeType": 1, "policiesVersion": size + version, "policy": one}
            document = {
                "serviceName": raw["serviceName"],
                "policyVersion": size + version,
                "serviceDef": raw["serviceDef"],
            }
            newer = newer.with_deltas(
                decode_service_policies(msgspec.json.encode({**document, "policyDeltas": [change]}))
            )
            list(map(newer.evaluate, asked[::40]))
        ended.set()
        return True

    assert in_threads(work) == [True] * THREADS


def test_a_core_policy_looked_up_by_many_threads_is_one_row() -> None:
    profile = load_profile("default")
    profile._core_rows.clear()
    verb = next(iter(profile.core))
    found: list[Operation] = in_threads(lambda _: profile.operation(f"stream_view.{verb}"))  # type: ignore[assignment]
    assert len({id(row) for row in found}) == 1


@pytest.mark.skipif(getattr(sys, "_is_gil_enabled", lambda: True)(), reason="needs a Python without GIL")
def test_without_a_gil_threads_get_the_answers_of_one() -> None:
    test_threads_that_ask_at_once_get_the_answers_of_one(0)
