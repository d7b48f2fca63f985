"""Which policies a request meets: values, wildcards, macros, and where one resource lies to another."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine import MatchingScope
from ranger_cdap.engine.compiled import wildcard
from ranger_cdap.engine.compiled.compile_level import compile_element
from ranger_cdap.engine.compiled.java import fold, hash_order
from ranger_cdap.engine.compiled.service_def import LevelOptions
from tests.engine.fixtures import asks, engine, item, on, policy

A = "alice"

VALUES = [
    # policy values of the level, requested value, matches?
    ("h1", "h1", True),
    ("h1", "h", False),
    ("h1", "H1", False),
    ("h*", "h", True),
    ("h*", "x-h", False),
    ("*1", "h1", True),
    ("*1", "1h", False),
    ("h*1", "h-and-1", True),
    ("h?", "h1", True),
    ("h?", "h", False),
    ("h?", "h12", False),
    ("*?", "ab", False),  # a star before a question mark means nothing
    ("?*", "ab", True),
    ("h[1]", "h1", False),  # brackets are letters
    ("h.", "h1", False),
    ("**", "anything", True),
    (["h1", "h2"], "h2", True),
    ([], "anything", True),  # no value matches everything
    ([""], "anything", True),
    ("{USER}", "alice", True),
    ("{USER}", "bob", False),
    ("{USER}*", "alice's", True),
    ("{NOBODY}", "{NOBODY}", True),  # an unknown macro is a text
    (r"a\\b", r"a\b", True),  # a backslash escapes
    (r"\{USER}", "{USER}", True),
    (r"\{USER}", "alice", False),
    (r"a\b", r"a\b", True),  # nothing but a backslash or what begins a macro
    ("h1", ("h0", "h1"), True),  # one of several requested values suffices
    ("h*", "*", False),  # only what matches everything matches a request for everything
    ("*", "*", True),
]


@pytest.mark.parametrize(("values", "requested", "matches"), VALUES)
def test_a_level(values: Any, requested: Any, matches: bool) -> None:
    decided = engine(policy(1, on(hall=values), [item(A, "read")])).evaluate(asks({"hall": requested}))
    assert decided.allowed is matches


@pytest.mark.parametrize(
    ("excluded", "requested", "matches"),
    [("h1", "h1", False), ("h1", "h2", True), ("h*", "x", True), ("*", "h1", False), ("h1", "*", False)],
)
def test_an_excluded_level(excluded: str, requested: str, matches: bool) -> None:
    decided = engine(policy(1, on(not_hall=excluded), [item(A, "read")])).evaluate(asks({"hall": requested}))
    assert decided.allowed is matches


def test_case_is_ignored_only_where_the_definition_says_so() -> None:
    sees = engine(policy(1, on(hall="h", till="Main*"), [item(A, "read")]))
    assert sees.evaluate(asks({"hall": "h", "till": "MAIN-1"})).allowed
    assert not sees.evaluate(asks({"hall": "H", "till": "main-1"})).allowed


PLACES = [
    # the policy's resource, the request's, does a plain request match, does one for anything below?
    (on(hall="h"), {"hall": "h"}, True, True),
    (on(hall="h"), {"hall": "h", "shelf": "s"}, False, False),  # a parent's policy never covers its children
    (on(hall="h", shelf="*"), {"hall": "h"}, True, True),  # trailing stars cover the parent as well
    (on(hall="h", shelf="*"), {"hall": "h", "shelf": "s", "box": "b"}, False, False),  # one star a level
    (on(hall="h", shelf="*"), {"hall": "h", "till": "t"}, False, False),  # another branch
    (on(hall="h", shelf="s"), {"hall": "h"}, False, True),  # it lies below
    (on(hall="h", shelf="s", box="*"), {"hall": "h", "shelf": "s"}, True, True),
    (on(hall="*", shelf="*", box="b"), {"hall": "h"}, False, True),
    (on(hall="*", shelf="*"), {}, True, True),
    (on(hall="h"), {}, False, True),
    (on(hall="h"), {"hall": "h", "colour": "red"}, False, False),  # a level nobody knows
    (on(shelf="s"), {"shelf": "s"}, False, False),  # without its hall there is no shelf
    (on(hall="h", box="b"), {"hall": "h", "shelf": "s", "box": "b"}, False, False),
    (on(hall="h", shelf="s", till="t"), {"hall": "h", "till": "t"}, False, False),
]


@pytest.mark.parametrize(("place", "requested", "plain", "below"), PLACES)
def test_where_a_policy_lies(place: Any, requested: Any, plain: bool, below: bool) -> None:
    judge = engine(policy(1, place, [item(A, "read")]))
    assert judge.evaluate(asks(requested)).allowed is plain
    assert judge.evaluate(asks(requested, access="_any")).allowed is below

    wide = asks(requested, matching_scope=MatchingScope.SELF_OR_DESCENDANTS)
    assert judge.evaluate(wide).allowed is below


def test_a_value_that_is_no_text_matches_nothing() -> None:
    judge = engine(policy(1, on(hall="*"), [item(A, "read")]))
    for odd in (None, 5, (1, 2), {"a": 1}):
        assert not judge.evaluate(asks({"hall": odd})).allowed


def test_more_values_than_are_multiplied_out_match_all_the_same() -> None:
    halls, shelves = [f"h{i}" for i in range(20)], [f"s{i}" for i in range(20)]
    judge = engine(policy(1, on(hall=halls, shelf=shelves), [item(A, "read")]))
    assert all(judge.evaluate(asks({"hall": h, "shelf": s})).allowed for h in halls for s in shelves)
    assert not judge.evaluate(asks({"hall": "h1", "shelf": "s20"})).allowed


patterns = st.text("ab*?", max_size=8)
texts = st.text("ab", max_size=8)


def units(text: str) -> str:
    data = text.encode("utf-16-le")
    return "".join(chr(int.from_bytes(data[at : at + 2], "little")) for at in range(0, len(data), 2))


@given(st.text("ab\u00e9😀😁*?", max_size=8).map(units), st.text("ab\u00e9😀😁", max_size=8))
def test_wildcards_agree_with_regular_expressions(pattern: str, text: str) -> None:
    cleaned = re.sub(r"\*+(?=\?)", "", re.sub(r"\*+", "*", pattern))
    expression = "".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in cleaned)
    found = bool(re.fullmatch(expression, units(text), re.DOTALL))
    assert wildcard.matches(wildcard.normalise(pattern), text) is found


def test_every_short_pattern_agrees_with_regular_expressions() -> None:
    values = ["".join(letters) for length in range(5) for letters in product("ab", repeat=length)]
    wrong = []
    for pattern in ["".join(letters) for length in range(1, 6) for letters in product("ab*?", repeat=length)]:
        cleaned = re.sub(r"\*+(?=\?)", "", re.sub(r"\*+", "*", pattern))
        expression = re.compile("".join({"*": ".*", "?": "."}.get(c, c) for c in cleaned), re.DOTALL)
        normal, level = wildcard.normalise(pattern), compile_element([pattern], False, LevelOptions())
        for value in values:
            found = (wildcard.matches(normal, value), level.covers(value, None))
            wrong += [(pattern, value)] * (set(found) != {bool(expression.fullmatch(value))})
    assert wrong == []


@given(st.text("ab*", max_size=8), texts, texts)
def test_what_begins_a_match_is_a_prefix_of_it(pattern: str, text: str, rest: str) -> None:
    """With `?` it is not so, in Java neither: tests/differential/test_prefix_patterns.py."""
    if wildcard.matches(wildcard.normalise(pattern), text + rest):
        assert wildcard.matches_prefix(pattern, text)


# As Java answers (tests/differential/test_prefix_patterns.py asks it about every short pattern).
BEGINNINGS = [
    ("?b", "ab", True),
    ("?b", "a", True),
    ("?b", "aab", False),  # no search further on behind a `?`
    ("*b?", "aba", True),
    ("*b?", "ab", False),  # a `?` needs a character
    ("*b?", "abb", True),
    ("*b?", "ba", True),
    ("*b?", "b", False),
    ("*b*", "ab", True),
    ("*b*", "b", True),
    ("a?", "a", False),
    # two literals behind stars: the first is searched again further on
    ("*b?a", "bbb", True),
    ("*b*a?", "bbb", False),
    ("*a?*b", "aba", False),
]


@pytest.mark.parametrize(("pattern", "text", "covered"), BEGINNINGS)
def test_which_beginnings_a_pattern_covers(pattern: str, text: str, covered: bool) -> None:
    assert wildcard.matches_prefix(pattern, text) is covered


class Counting(str):
    """A text that counts how often it is looked into."""

    looks = 0

    def __getitem__(self, key: Any) -> str:
        self.looks += 1
        return super().__getitem__(key)


@pytest.mark.parametrize("pattern", ["*a" * 200 + "b", "*" + "?*" * 200 + "b", "a*" * 200 + "b", "*ab" * 60 + "*c"])
def test_matching_looks_at_most_pattern_length_times_value_length_often(pattern: str) -> None:
    value = Counting("a" * 1000)
    cleaned = wildcard.normalise(pattern)
    assert not wildcard.matches(cleaned, value)
    assert value.looks <= len(cleaned) * len(value)


@given(patterns.filter(lambda p: p.strip("*")), texts.filter(bool), texts.filter(bool))
def test_the_index_finds_what_a_scan_of_all_policies_finds(pattern: str, hall: str, shelf: str) -> None:
    """A policy found among others is one found alone."""
    others = [policy(i, on(hall=h, shelf=s), [item("bob", "read")]) for i, (h, s) in enumerate(_PAIRS, 2)]
    mine = policy(1, on(hall=pattern, shelf=[shelf, "zz"]), [item(A, "read")])
    request = asks({"hall": hall, "shelf": shelf})
    alone, among = engine(mine).evaluate(request), engine(*others, mine).evaluate(request)
    assert alone.allowed == among.allowed == wildcard.matches(wildcard.normalise(pattern), hall)


_PAIRS = [("*", "a"), ("a*", "*"), ("a", "b"), ("?", "b*"), ("b", ["a", "b"]), (["a", "ab"], "ab")]


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [("Straße", "STRASSE", False), ("İ", "i", True), ("ÀB", "àb", True), ("K", "\u212a", True), ("𐐀", "𐐨", False)],
)
def test_case_is_ignored_as_java_ignores_it(one: str, other: str, equal: bool) -> None:
    assert (fold(one) == fold(other)) is equal


def test_names_come_in_the_order_of_a_java_set() -> None:
    assert hash_order(["write", "read", "admin", "manage"]) == hash_order(["manage", "admin", "read", "write"])
    assert hash_order("ba") == ("a", "b")


def test_a_request_for_thousands_of_combinations_is_answered_like_any_other() -> None:
    many = tuple(f"x{n}" for n in range(1000))
    judge = engine(
        policy(1, on(hall="x7", shelf="x9", box="x3"), [item(A, "read")]),
        policy(2, on(hall="other", shelf="x9"), [item("bob", "read")]),
    )
    asked = {"hall": many, "shelf": many, "box": many}
    assert judge.evaluate(asks(asked)).policy_id == 1
    assert not judge.evaluate(asks(asked, "bob")).allowed
    assert not judge.evaluate(asks({**asked, "hall": tuple(f"y{n}" for n in range(1000))})).allowed
