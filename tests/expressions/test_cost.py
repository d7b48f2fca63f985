"""What a script may cost: a short one never reaches the limit, and others count with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.engine import EngineOptions, PolicyEngine
from ranger_cdap.expressions import NotInSubset, Script, script_conditions
from ranger_cdap.expressions.facts import facts_of
from ranger_cdap.expressions.language import language
from ranger_cdap.expressions.sandbox import _attempt, context_methods
from ranger_cdap.expressions.script_condition import read_condition
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.engine.fixtures import document, item, on, policy
from tests.expressions.fixtures import FULL

LONG = ",".join("abcdefg" for _ in range(1_000))

SHORT = [
    "true",
    "IS_IN_GROUP('g1') && !HAS_TAG('PII')",
    "REQ.accessType == 'read' || USER.dept == 'eng'",
    "['a', 'b'].includes(RES.namespace)",
    "if (RES.dataset.startsWith('x')) ctx.setResult(true)",
    "[[USER.dept]].indexOf('eng') >= 0",
]
OTHERS = [
    "UGNAMES.some(g => g == 'g1')",
    "(function f(n) { return n == 0 || f(n - 1); })",
    "const a = 'x'; a == 'x'",
    "UGNAMES.map(String).includes('a')",
    "RES.x.split('').join('xx').length > 1",
    "RES.x.split('').toString().length > 1",
    "RES.x.concat(RES.x).length > 1",
    "RES.x.replace('a', 'b') == 'b'",
    "UGNAMES['jo' + 'in']?.('') == 'x'",
    "UGNAMES.join /* */ ('') == 'x'",
    "'' == '" + "x" * 1_100 + "'",
    "==".join(["RES.x.split('').length"] * 5),
]


def is_short(text: str) -> bool | None:
    """Whether a script is short; None if it is refused."""
    try:
        return read_condition([text], {}).script.is_short
    except NotInSubset:
        return None


@pytest.mark.parametrize("text", SHORT)
def test_an_ordinary_script_is_short(text: str) -> None:
    assert is_short(text) is True


@pytest.mark.parametrize("text", OTHERS)
def test_a_script_that_may_repeat_or_grow_is_not_short(text: str) -> None:
    assert is_short(text) is not True


VALUES = ["RES.namespace", "USER.dept", "REQ.user", "UGNAMES", "'x'", "TAGNAMES", "UG.g1.site", "RES", "[1, 2]", "true"]
CALLS = [*language()["short"]["calls"], "join", "concat", "replace", "map", "toString", "intersects"]
WRAPPED = ["String({})", "[{}]", "({})", "{} + {}", "{} == {}", "{} && {}", "typeof {}", "ctx.hasTag({})", "{}.length"]
PARTS = st.recursive(
    st.sampled_from(VALUES),
    lambda inner: st.one_of(
        st.builds("{}.{}({})".format, inner, st.sampled_from(CALLS), st.one_of(inner, st.sampled_from(["''", "','"]))),
        st.builds(lambda text, one: text.replace("{}", one), st.sampled_from(WRAPPED), inner),
    ),
    max_leaves=30,
)


def ends(script: Script, facts: str) -> bool:
    """Whether it is not interrupted; what else the process does may interrupt one, and seldom three."""
    try:
        return _attempt(script, facts) is not None
    except TypeError:
        return True  # a text that QuickJS put together and its bindings for Python do not take; unknown to the engine


@settings(max_examples=300, deadline=None)
@given(PARTS)
def test_a_short_script_ends_before_its_limit(text: str) -> None:
    """Law: with the longest values, too; QuickJS interrupts none that is said to be short."""
    if is_short(text):
        resource: dict[str, Any] = {"namespace": LONG, "dataset": LONG}
        facts = facts_of(replace(FULL, resource=resource), {})
        script, encoded = read_condition([text], {}).script, msgspec.json.encode(facts).decode()
        assert any(ends(script, encoded) for _ in range(3)), text


def test_all_methods_of_ctx_are_among_the_short_ones() -> None:
    assert all(is_short(f"ctx.{method}('a')") is not False for method in context_methods())


@pytest.mark.parametrize(
    ("text", "count", "costly"), [(SHORT[1], 20, False), (SHORT[1], 21, True), (OTHERS[0], 1, True)]
)
def test_scripts_on_one_resource_add_up(text: str, count: int, costly: bool) -> None:
    given = [{"type": "script", "values": [text]}]
    listed = [policy(n + 1, on(hall="h"), [item("alice", "read", conditions=given)]) for n in range(count)]
    engine = PolicyEngine.build(
        decode_service_policies(msgspec.json.encode(document(*listed))),
        options=EngineOptions(conditions=script_conditions()),
    )
    assert engine.may_be_costly is costly
