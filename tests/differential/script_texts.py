"""Scripts for conditions: of the subset, with undefined members and confused types, and heaps of its words."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from hypothesis import strategies as st

_PARTS = {
    name: re.split(r"  |\n", text.strip())
    for name, text in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
TEXTS = [
    "eng",
    "g1",
    "g2",
    "A",
    "B",
    "alice",
    "read",
    "10.0.0.1",
    "",
    "7",
    "a,b",
    "HAS_TAG",
    "PII",
    "site",
    "x y",
    "$&",
]
VALUES, CALLS, METHODS = _PARTS["values"], _PARTS["calls"], _PARTS["methods"]
WORDS = [*_PARTS["words"], *VALUES, *CALLS]
OPERATORS = ("==", "!=", "===", "!==", "<", ">", "<=", ">=", "+", "-", "*", "%", "&&", "||", "??", "in")

_texts = st.sampled_from(TEXTS).map(lambda text: f"'{text}'")


def _filled(template: str, values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A template with its places filled."""
    parts = template.count("{v}"), template.count("{t}")

    def fill(drawn: tuple[list[str], list[str]]) -> str:
        made = template
        for place, found in zip(("{v}", "{t}"), drawn, strict=True):
            for one in found:
                made = made.replace(place, one, 1)
        return made

    return st.tuples(
        st.lists(values, min_size=parts[0], max_size=parts[0]), st.lists(_texts, min_size=parts[1], max_size=parts[1])
    ).map(fill)


_plain = st.one_of(st.sampled_from(VALUES), _texts)


def _called(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(CALLS).flatmap(lambda call: _filled(call, values))


def _more(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(values, st.sampled_from(OPERATORS), values).map(lambda x: f"({x[0]} {x[1]} {x[2]})"),
        st.tuples(values, st.sampled_from(METHODS).flatmap(lambda m: _filled(m, _plain))).map("".join),
        st.tuples(st.sampled_from(("!", "!!", "-", "typeof ", "+")), values).map("".join),
        st.tuples(st.sampled_from(("String", "Number", "Boolean", "parseInt", "isNaN", "parseFloat")), values).map(
            lambda x: f"{x[0]}({x[1]})"
        ),
        st.tuples(values, values, values).map(lambda x: f"({x[0]} ? {x[1]} : {x[2]})"),
    )


expressions = st.recursive(st.one_of(_plain, _called(_plain)), _more, max_leaves=6)


def comparisons() -> st.SearchStrategy[str]:
    """Scripts whose result is a boolean more often than not."""
    return st.one_of(
        expressions,
        st.tuples(expressions, st.sampled_from(OPERATORS[:8]), expressions).map(lambda x: f"{x[0]} {x[1]} {x[2]}"),
        expressions.map(lambda x: f"!!({x})"),
        expressions.map(lambda x: f"if ({x}) ctx.setResult(true); else {{ ctx.setResult(false); }}"),
        st.tuples(expressions, expressions).map(lambda x: f"var a = {x[0]}; a == {x[1]}"),
        st.tuples(expressions, expressions).map(lambda x: f"ctx.setResult(!!{x[0]}); {x[1]} // done"),
    )


heaps = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)
