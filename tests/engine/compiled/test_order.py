"""The order in which policies are evaluated is that of the reference engine, which Java's engine is asked about."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.differential.reference_order import eval_order, rank
from tests.engine.fixtures import RANGER, SHOP, engine, item, policy

values = st.lists(st.sampled_from(["*", "a", "a*", "a?", "*b", "?", "b", "{USER}"]), max_size=3)
levels = st.fixed_dictionaries(
    {"values": values, "isExcludes": st.booleans(), "isRecursive": st.booleans()},
)
resources = st.one_of(
    st.fixed_dictionaries({"hall": levels}),
    st.fixed_dictionaries({"hall": levels, "shelf": levels}),
    st.fixed_dictionaries({"hall": levels, "shelf": levels, "box": levels}),
)
whom = st.sampled_from(["alice", "bob", "alice bob", "@staff", "@public", "%lead", "{USER}"])
items = st.lists(
    st.builds(
        item,
        whom,
        st.sampled_from(["read", "write", "own"]),
        conditions=st.lists(st.just({"type": "ip", "values": ["10.0.0.1"]}), max_size=3),
    ),
    max_size=3,
)
drawn = st.builds(
    policy,
    st.just(1),
    resources,
    items,
    items,
    allowExceptions=items,
    isDenyAllElse=st.booleans(),
    policyPriority=st.integers(-1, 1),
)


@given(drawn)
def test_a_policy_has_the_rank_that_ranger_gives_it(raw: dict[str, Any]) -> None:
    (entry,) = engine(raw, options=RANGER)._state.default.all()
    assert entry.compiled.sort_key == rank(SHOP, raw)
    assert entry.compiled.sort_key[2] == eval_order(SHOP, raw)
