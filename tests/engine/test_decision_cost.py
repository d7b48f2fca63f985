"""What decisions compile: a bounded amount, by an engine that was prepared and does not call itself costly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine import ANY_ACCESS, MatchingScope, PolicyEngine, ProblemCode
from ranger_cdap.engine.compiled import cost
from ranger_cdap.engine.compiled.policy import PolicyCompiler
from ranger_cdap.engine.lookup.index import ShapeIndex
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.download import ServicePolicies
from tests.engine.fixtures import RANGER, SAFE, Json, asks, document, engine, item, on, policy

LAZY, CROWD = 700, 4
SPENT: list[int] = []
"""Lengths of the policies compiled, and 0 for each index built."""


@pytest.fixture(autouse=True, scope="module")
def small_limits() -> Iterator[None]:
    """The limits of a few policies, and a count of what reaches them."""
    decode, build = PolicyCompiler.decode, ShapeIndex.__init__

    def decoding(self: PolicyCompiler, raw: Any) -> Any:
        SPENT.append(len(raw))
        return decode(self, raw)

    def building(self: Any, *given: Any) -> None:
        SPENT.append(0)
        build(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cost, "MAX_LAZY_LENGTH", LAZY)
        patch.setattr(cost, "MAX_POLICY_LENGTH", 10 * LAZY)
        patch.setattr(cost, "MAX_CROWD", CROWD)
        patch.setattr(PolicyCompiler, "decode", decoding)
        patch.setattr(ShapeIndex, "__init__", building)
        yield


names = st.sampled_from(["a", "b", "c", "a*", "*", "b?"])
resources = st.one_of(
    st.builds(lambda hall: on(hall=hall), names),
    st.builds(lambda hall, shelf: on(hall=hall, shelf=shelf), names, names),
    st.builds(lambda hall, shelf, box: on(hall=hall, shelf=shelf, box=box), names, names, names),
    st.builds(lambda hall, till: on(hall=hall, till=[till, "t2"]), names, names),
)
counts = st.sampled_from([0, 1, 1, 2, 30])


@st.composite
def policies(draw: st.DrawFn) -> list[Json]:
    def items() -> list[Json]:
        ip = [{"type": "ip", "values": ["10.*"] * draw(counts)}] * draw(st.integers(0, 1))
        users = " ".join(["alice", "bob", *(f"u{n}" for n in range(draw(counts)))])
        return [item(users, *["read"] * draw(counts), conditions=ip) for _ in range(draw(counts))]

    several = draw(st.sampled_from([1, 2, CROWD, 3 * CROWD]))
    return [
        policy(n, draw(resources), items(), items(), additionalResources=[draw(resources)] * draw(counts))
        for n in range(1, several + 1)
    ]  # fmt: skip


wanted = st.tuples(
    st.sampled_from([{"hall": "a"}, {"hall": "a", "shelf": "b"}, {"hall": "a", "shelf": "b", "box": "c"}]),
    st.sampled_from(["read", "write", ANY_ACCESS, "_admin"]),
    st.sampled_from(list(MatchingScope)),
)


def decided(judge: PolicyEngine, where: Json, access: str, scope: MatchingScope) -> list[int]:
    """What one decision compiled and built."""
    SPENT.clear()
    judge.evaluate(asks(where, access=access, matching_scope=scope))
    return SPENT.copy()


def deltas_of(listed: list[Json]) -> ServicePolicies:
    deltas = [{"changeType": 1, "policy": {**one, "serviceType": "shop"}} for one in listed]
    return decode_service_policies(msgspec.json.encode(document(policies=None, policyDeltas=deltas, policyVersion=2)))


@given(policies(), policies(), st.lists(wanted, min_size=1, max_size=4), st.sampled_from([SAFE, RANGER]))
def test_no_decision_compiles_a_long_policy_or_builds_an_index(
    listed: list[Json], others: list[Json], asked: list[Any], options: Any
) -> None:
    judge = engine(*listed, options=options)
    for prepared in (judge, judge.with_deltas(deltas_of(others))):
        prepared.prepare()
        for where, access, scope in asked:
            spent = decided(prepared, where, access, scope)
            assert all(length <= LAZY for length in spent)
            if len(where) > 1 and not prepared.may_be_costly and len(listed) > CROWD:
                assert 0 not in spent


READ = [item("alice", "read")]
MANY = range(1, 3 * CROWD)
ZONED = {f"z{n}": {"resources": [{"hall": ["a"], "shelf": [f"s{n}"]}], "policies": []} for n in MANY}
CROWDS: dict[str, tuple[list[Json], Json, bool]] = {
    "a few policies": ([policy(n, on(hall="a"), READ) for n in range(CROWD)], {}, False),
    "many, each on its own": ([policy(n, on(hall=f"a{n}"), READ) for n in MANY], {}, False),
    "many, each with its own wildcard": ([policy(n, on(hall=f"a{n}*"), READ) for n in MANY], {}, False),
    "many in one hall": ([policy(n, on(hall="a", shelf=f"{n}"), READ) for n in MANY], {}, False),
    "many on one resource": ([policy(n, on(hall="a"), READ) for n in MANY], {}, True),
    "many on everything": ([policy(n, on(hall="*"), READ) for n in MANY], {}, True),
    "many with one end": ([policy(n, on(hall=f"*{n}"), READ) for n in MANY], {}, True),
    "many on one shelf": ([policy(n, on(hall="a", shelf="b", box=f"{n}"), READ) for n in MANY], {}, True),
    "many zones in a hall": ([], {"securityZones": ZONED}, False),
    "many in one zone": (
        [], {"securityZones": {"z": {"resources": [{"hall": ["a"]}],
                                     "policies": [policy(n, on(hall="a"), READ) for n in MANY]}}}, True,
    ),
    "a long one": ([policy(1, on(hall="a"), READ * 100)], {}, True),
}  # fmt: skip


@pytest.mark.parametrize("name", CROWDS)
def test_an_engine_in_which_one_decision_concerns_a_crowd_is_costly(name: str) -> None:
    listed, more, costly = CROWDS[name]
    judge = engine(*listed, **more)
    by_deltas = engine().with_deltas(deltas_of(listed))
    for prepared in (judge, by_deltas):
        prepared.prepare()
    assert judge.may_be_costly is costly
    assert by_deltas.may_be_costly is (costly and not more)


def test_an_engine_of_many_policies_counts_as_costly_until_it_is_prepared() -> None:
    many = [policy(n, on(hall=f"a{n}", shelf="b", box=f"{n}"), READ) for n in MANY]
    judge = engine(*many)
    assert judge.may_be_costly
    judge.prepare()
    assert not judge.may_be_costly


def test_a_long_policy_is_reported_once() -> None:
    found = engine(policy(1, on(hall="a"), READ * 100), policy(2, on(hall="a"), READ)).problems
    assert [(problem.policy_id, problem.code) for problem in found] == [(1, ProblemCode.COSTLY_POLICY)]
