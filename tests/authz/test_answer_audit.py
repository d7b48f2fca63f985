"""Records of an answer that are made when they are written: whatever happens between, they are those of the check."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.audit import AuditRecord, AuditTrail
from ranger_cdap.audit.delivery import Delivery
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.cdap.profile import load_profile, profile_names
from ranger_cdap.errors import UnknownOperation
from tests.authz import fixtures as authorizer_world
from tests.authz.fixtures import Memory, policy

KV = entity_id("dataset", ["ns1", "kv"])
KEY = entity_id("secure_key", ["ns1", "key"])
POLICIES = [
    policy(1, {"namespace": "ns1"}, ["alice", "bob"], ["read"]),
    policy(2, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["read"]),
    policy(3, {"namespace": "ns1", "secure_key": "key"}, ["alice"], ["read"]),
]
USERS = st.sampled_from(["alice", "bob", "eve"])
QUESTIONS = st.sampled_from([("dataset.get", KV), ("dataset.truncate", KV), ("secure_key.get", KEY)])


class Failing:
    """A sink that fails the first times, and keeps what it was given each time."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.given: list[list[AuditRecord]] = []
        self.accepted = threading.Event()

    def write(self, records: Sequence[AuditRecord]) -> None:
        self.given.append(list(records))
        if len(self.given) <= self.failures:
            raise OSError("unavailable")
        self.accepted.set()

    def close(self) -> None:
        pass


@given(st.lists(st.tuples(USERS, QUESTIONS), min_size=1, max_size=8))
def test_a_record_has_the_answer_that_was_given(asked: list[tuple[str, tuple[str, object]]]) -> None:
    memory = Memory()
    authorizer = authorizer_world.authorizer(POLICIES, memory)
    for user, question in asked:
        before = len(memory.records)
        answer = authorizer.check(user, (), *question)  # type: ignore[arg-type]
        made = memory.records[before:]
        assert [(r.reqUser, r.access, r.result) for r in made] == [(user, answer.operation, int(answer.allowed))] * len(
            made
        )
        assert {r.reason for r in made} <= {"" if answer.allowed else answer.reason}
    assert len({r.id for r in memory.records}) == len(memory.records)


def test_a_record_sent_again_and_to_two_sinks_is_one_record() -> None:
    once, again = Failing(0), Failing(2)
    deliveries = [Delivery(name, sink, capacity=10, first_pause=0.001) for name, sink in (("a", once), ("b", again))]
    authorizer = authorizer_world.authorizer(POLICIES)
    authorizer.decider._audit = AuditTrail(deliveries)

    authorizer.check("bob", (), "dataset.get", KV)
    assert once.accepted.wait(30)
    assert again.accepted.wait(30)
    authorizer.close()

    (first,), *others = [*once.given, *again.given]
    assert first.reason == "bob needs READ on dataset:ns1.kv"
    assert others == [[first]] * 3


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (Answer(True, "dataset.get", KV, "ann", ()), "allowed"),
        (
            Answer(False, "dataset.get", KV, "ann", (), given_reason="vetoed: frozen", given_missing=()),
            "vetoed: frozen",
        ),
    ],
    ids=["allowed", "for a reason outside the policies"],
)
def test_an_answer_without_missing_privileges_says_why(answer: Answer, reason: str) -> None:
    assert answer.reason == reason
    assert answer.missing == ()


@pytest.mark.parametrize("name", profile_names())
def test_core_policies_are_worked_out_once_and_unknown_names_are_not_kept(name: str) -> None:
    profile = load_profile(name)
    verb = next(iter(profile.core))
    assert profile.operation(f"stream_view.{verb}") is profile.operation(f"stream_view.{verb}")

    kept = len(profile._core_rows)
    for n in range(100):
        with pytest.raises(UnknownOperation):
            profile.operation(f"dataset.nothing{n}")
    assert len(profile._core_rows) == kept
