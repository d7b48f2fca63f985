"""What matching may cost: a policy that would take too many steps counts as broken there, and all else is as before."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine import ProblemCode
from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.cost import MAX_VALUE_LENGTH
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.engine.fixtures import RANGER, asks, engine, item, on, policy

Json = dict[str, Any]

COSTLY = [f"*{'a' * 500}{n}*c" for n in range(400)]
LONG = "a" * 1_000
READ = [item("@public", "read")]
ALICE = [item("alice", "read")]


def allows(n: int, values: Any = "*", **more: Any) -> Json:
    return policy(n, on(hall=values), READ, **more)


def denies(n: int, values: Any = "*", **more: Any) -> Json:
    return policy(n, on(hall=values), [], ALICE, **more)


WITH_ONE_TOO_COSTLY: dict[str, tuple[list[Json], dict[str, bool]]] = {
    "it allows": ([allows(1, COSTLY)], {"alice": False, "bob": False}),
    "it denies somebody else": ([denies(1, COSTLY), allows(2)], {"alice": False, "bob": False}),
    "it denies, and comes last": ([allows(1), denies(2, COSTLY)], {"alice": False, "bob": False}),
    "it allows, and another allows": ([allows(1, COSTLY), allows(2)], {"alice": True, "bob": True}),
    "another allows, and it comes last": ([allows(1), allows(2, COSTLY)], {"alice": True, "bob": True}),
    "it allows, and another denies": ([allows(1, COSTLY), denies(2), allows(3)], {"alice": False, "bob": True}),
    "another denies, and it comes last": ([denies(1), allows(2), allows(3, COSTLY)], {"alice": False, "bob": True}),
    "it denies, below what overrides": (
        [denies(1, COSTLY), allows(2, policyPriority=1)], {"alice": True, "bob": True},
    ),
    "it overrides": ([denies(1, COSTLY, policyPriority=1), allows(2)], {"alice": False, "bob": False}),
}  # fmt: skip


@pytest.mark.parametrize("name", WITH_ONE_TOO_COSTLY)
def test_a_policy_that_takes_too_many_steps_is_broken_where_it_does(name: str) -> None:
    policies, wanted = WITH_ONE_TOO_COSTLY[name]
    judge = engine(*policies)

    assert {who: judge.evaluate(asks({"hall": LONG}, who)).allowed for who in wanted} == wanted
    assert [problem.code for problem in judge.problems] == [ProblemCode.COSTLY_RESOURCE]


@pytest.mark.parametrize(("hall", "allowed"), [("a" * 500 + "7xc", False), ("a" * 500 + "7xd", True)])
def test_where_the_steps_suffice_it_is_as_it_is_written(
    hall: str, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cost, "MAX_STEPS", 50_000_000)
    judge = engine(allows(1), denies(2, COSTLY))
    assert judge.evaluate(asks({"hall": hall}, "alice")).allowed is allowed
    assert judge.evaluate(asks({"hall": hall}, "bob")).allowed


def test_it_is_broken_on_its_resource_only() -> None:
    """The levels that can be matched still say where; the others count as covering everything."""
    judge = engine(policy(1, on(hall="*"), READ), policy(2, on(hall="h", shelf=COSTLY), [], ALICE))
    judge_of_shelves = engine(
        policy(1, on(hall="*", shelf="*"), READ), policy(2, on(hall="h", shelf=COSTLY), [], ALICE)
    )

    def reads(hall: str, shelf: str) -> bool:
        return judge_of_shelves.evaluate(asks({"hall": hall, "shelf": shelf})).allowed

    assert judge.evaluate(asks({"hall": "h"})).allowed
    assert (reads("h", LONG), reads("other", LONG), reads("h", "s")) == (False, True, True)


def test_it_is_not_broken_below_its_resource() -> None:
    judge = engine(policy(1, on(hall="*", shelf="*", box="*"), READ), policy(2, on(hall="h", shelf=COSTLY), [], ALICE))
    assert judge.evaluate(asks({"hall": "h", "shelf": LONG, "box": "b"})).allowed


def test_what_stands_for_it_goes_with_it() -> None:
    """A delta that takes the policy away takes away what stood for it, too."""
    judge = engine(allows(1), denies(2, COSTLY))
    assert not judge.evaluate(asks({"hall": LONG}, "bob")).allowed

    deltas = [{"changeType": 2, "policiesVersion": 2, "policy": {"id": 2, "serviceType": "shop", "policyType": 0}}]
    changes = {"serviceName": "shop1", "policyVersion": 2, "policyDeltas": deltas}
    after = judge.with_deltas(decode_service_policies(json.dumps(changes).encode()))

    assert after.evaluate(asks({"hall": LONG}, "bob")).allowed


USUAL = {
    "prefixes at every level": on(hall=["a*", "b*"], shelf=["c*", "d*"], box="e*"),
    "folded ones": on(hall="*", till=["mapreduce.*", "spark.*", "service.*", "worker.*", "workflow.*", "ü*"]),
    "some question marks": on(hall=[f"data_????_{n}*" for n in range(20)]),
    "two hundred parts of names": on(hall=[f"*_part{n}_*" for n in range(200)]),
    "macros": on(hall=["home_{USER}_*", "*_{USER}", "*{USER}*"]),
}


@pytest.mark.parametrize("name", USUAL)
def test_usual_policies_are_not_reported(name: str) -> None:
    assert not engine(policy(1, USUAL[name], READ)).problems


def test_java_has_no_limits() -> None:
    judge = engine(allows(1, [f"{LONG}*{'a' * MAX_VALUE_LENGTH}", *COSTLY]), options=RANGER)
    assert [problem.code for problem in judge.problems] == [ProblemCode.COSTLY_POLICY]  # it is long, and still matches
    assert judge.evaluate(asks({"hall": "a" * 500 + "7xc"})).allowed


TOO_LONG = "x" * (MAX_VALUE_LENGTH + 1)


@pytest.mark.parametrize("where", [{"hall": TOO_LONG}, {"hall": ("h", TOO_LONG)}, {"hall": "h", "shelf": TOO_LONG}])
def test_a_request_with_a_value_that_is_too_long_is_denied(where: Json) -> None:
    judge = engine(allows(1), policy(2, on(hall="*", shelf="*"), READ))

    for decision in (judge.evaluate(asks(where)), judge.explain(asks(where))):
        assert not decision.allowed
        assert decision.determined
        assert decision.audited
        assert decision.reason == f"invalid: the {list(where)[-1]} is longer than {MAX_VALUE_LENGTH} characters"


@pytest.mark.parametrize("asked", [{"who": TOO_LONG}, {"owner": TOO_LONG}, {"context": {"token:team": TOO_LONG}}])
def test_so_is_one_with_a_macro_that_stands_for_too_much(asked: Json) -> None:
    judge = engine(allows(1, "{USER}*{OWNER}*{team}"), allows(2))
    assert judge.evaluate(asks({"hall": "h"}, "bob")).allowed

    decision = judge.evaluate(asks({"hall": "h"}, **asked))
    assert not decision.allowed
    assert decision.reason == f"invalid: the value of a macro is longer than {MAX_VALUE_LENGTH} characters"


def test_macros_cost_what_they_stand_for() -> None:
    """Nobody makes a policy cheap by a macro, nor dear by a name of usual length."""
    judge = engine(allows(1), denies(2, [f"*{{USER}}*{n}" for n in range(500)]))

    assert judge.evaluate(asks({"hall": "some_hall_of_a_usual_name"}, "alice")).allowed
    assert not judge.evaluate(asks({"hall": LONG}, "b" * 1_000)).allowed


def test_a_policy_value_that_is_too_long_denies_and_allows_nothing() -> None:
    judge = engine(allows(1), policy(2, on(hall="h", shelf=TOO_LONG), [], ALICE), policy(3, on(till=TOO_LONG), READ))

    assert [(p.policy_id, p.code) for p in judge.problems] == [
        (2, ProblemCode.VALUE_TOO_LONG), (3, ProblemCode.VALUE_TOO_LONG),
    ]  # fmt: skip
    assert not judge.evaluate(asks({"hall": "h"}, "bob")).allowed
    assert judge.evaluate(asks({"hall": "other"}, "bob")).allowed


def test_what_was_asked_with_long_names_is_not_remembered() -> None:
    """Whoever asks for ever new and long names fills no memory."""
    judge = engine(allows(1, ["*"]))
    cached = judge._state.default.cache_of(("hall",))
    for n in range(50):
        judge.evaluate(asks({"hall": f"{n}" + "a" * 5_000}))
        judge.evaluate(asks({"hall": f"{n}"}))

    assert {len(hall) for (hall,) in cached} == {1, 2}


@given(st.text("ab?*", max_size=40), st.text("ab?*", max_size=40), st.integers(0, 100))
def test_a_longer_pattern_is_never_cheaper(pattern: str, more: str, length: int) -> None:
    for cost_of in (cost.cost_of_text, cost.cost_of_glob):
        assert cost_of(pattern).steps(length, 0) <= cost_of(pattern + more).steps(length, 0)
        assert cost_of(pattern).steps(length, 0) < cost_of(f"{pattern}{16 * 'a'}").steps(length, 0)
