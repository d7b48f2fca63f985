"""Levels of a service definition: which may be leaves, what options say if they are empty, and several values."""

from __future__ import annotations

from copy import deepcopy
from itertools import product
from typing import Any

import pytest

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import PolicySetError
from tests.engine.fixtures import RANGER, SHOP, Json, asks, engine, item, on, policy

SHELF = {"hall": "h", "shelf": "s"}


def shop(level: str, **fields: Any) -> Json:
    """The definition with other fields of one level."""
    definition = deepcopy(SHOP)
    (row,) = (row for row in definition["resources"] if row["name"] == level)
    row.update(fields)
    return definition


def reads(where: dict[str, Any], definition: Json, **resource: Any) -> PolicyEngine:
    return engine(policy(1, on(**where, **resource), [item("alice", "read")]), serviceDef=definition, options=RANGER)


LEAVES = [
    # the level that is no leaf, and whether a shelf can be named in a policy
    ("hall", True),
    ("box", False),
    ("till", False),
]


@pytest.mark.parametrize(("level", "valid"), LEAVES)
def test_only_a_level_without_children_must_be_a_leaf(level: str, valid: bool) -> None:
    judge = reads(SHELF, shop(level, isValidLeaf=False))
    assert judge.evaluate(asks(SHELF)).allowed is valid


@pytest.mark.parametrize("option", ["quoteChars", "tokenDelimiterStart", "tokenDelimiterEnd", "tokenDelimiterEscape"])
def test_an_empty_option_is_its_default(option: str) -> None:
    options = {"ignoreCase": "false", option: ""}
    judge = reads({"hall": "{USER}"}, shop("hall", matcherOptions=options))
    assert [judge.evaluate(asks({"hall": hall})).allowed for hall in ("alice", "bob")] == [True, False]


FLAGS = ["wildCard", "ignoreCase", "quotedCaseSensitive", "replaceTokens", "replaceReqExpressions"]
TEXTS = ["quoteChars", "tokenDelimiterStart", "tokenDelimiterEnd", "tokenDelimiterEscape", "tokenDelimiterPrefix"]


@pytest.mark.parametrize(("option", "value"), [*product(FLAGS, ["maybe", "", 1]), *product(TEXTS, [1, ["{"]])])
def test_an_option_that_could_mean_something_else_is_refused_or_read_as_ranger_does(option: str, value: Any) -> None:
    definition = shop("hall", matcherOptions={option: value})
    with pytest.raises(PolicySetError, match=rf"resource `hall` has an unreadable option `{option}`"):
        engine(serviceDef=definition)
    engine(serviceDef=definition, options=RANGER)


DEFAULTS = [
    # values of a policy, and what they cover on a level without options
    ("H*", "hall", True),
    ("{USER}", "alice", True),
    ("{USER}", "bob", False),
    ('"Q"', '"q"', True),
]


@pytest.mark.parametrize(("value", "asked", "allowed"), DEFAULTS)
def test_a_level_without_options_has_the_defaults_of_ranger(value: str, asked: str, allowed: bool) -> None:
    judge = reads({"hall": value}, shop("hall", matcherOptions={}))
    assert judge.evaluate(asks({"hall": asked})).allowed is allowed


SEVERAL_TILLS = [("t1", True), ("T1", True), ("t2", True), ("t3", False)]


@pytest.mark.parametrize(("asked", "allowed"), SEVERAL_TILLS)
def test_several_values_are_compared_ignoring_case_where_one_is(asked: str, allowed: bool) -> None:
    judge = reads({"hall": "h", "till": ["T1", "t2"]}, SHOP)
    assert judge.evaluate(asks({"hall": "h", "till": asked})).allowed is allowed


@pytest.mark.parametrize("who", [("alice", "bob"), ("bob", "alice")])
def test_a_macro_among_several_values_is_expanded_for_each_user(who: tuple[str, str]) -> None:
    judge = engine(policy(1, on(hall=["{USER}", "h"]), [item("alice bob", "read")]))
    assert {user: judge.evaluate(asks({"hall": "alice"}, user)).allowed for user in who} == {
        "alice": True,
        "bob": False,
    }


QUOTED = [
    # where quoted values are case-sensitive: a value of a policy, and what it covers
    ('"A"', '"A"', True),
    ('"A"', '"a"', False),
    ("A", "a", True),
    ("Xa", "xa", True),
    ("xa", "Xa", True),
    ("'A'", "'a'", True),
]


@pytest.mark.parametrize(("value", "asked", "allowed"), QUOTED)
def test_a_value_in_double_quotes_may_be_case_sensitive(value: str, asked: str, allowed: bool) -> None:
    judge = reads({"hall": value}, shop("hall", matcherOptions={"quotedCaseSensitive": "true"}))
    assert judge.evaluate(asks({"hall": asked})).allowed is allowed


@pytest.mark.parametrize(("quotes", "cased"), [("'", ["'"]), ("'`", ["'", "`"]), ('"', ['"']), (None, ['"'])])
def test_which_characters_are_quotes_is_an_option(quotes: str | None, cased: list[str]) -> None:
    options = {"quotedCaseSensitive": "true"} | ({} if quotes is None else {"quoteChars": quotes})
    for quote in ("'", '"', "`"):
        judge = reads({"hall": f"{quote}A{quote}"}, shop("hall", matcherOptions=options))
        asked = {name: judge.evaluate(asks({"hall": f"{quote}{name}{quote}"})).allowed for name in "Aa"}
        assert asked == {"A": True, "a": quote not in cased}, quote


SEVERAL = [
    (["h", "g"], "h", True),
    (["h", "g"], "x", False),
    (["h", "g"], ["x", "g"], True),
    (["h", "g"], ["x", "y"], False),
    (["h"], ["x", "h"], True),
    (["h"], ["x"], False),
]


@pytest.mark.parametrize(("values", "asked", "allowed"), SEVERAL)
def test_one_of_the_values_asked_for_is_one_of_the_policy(values: list[str], asked: Any, allowed: bool) -> None:
    assert reads({"hall": values}, SHOP).evaluate(asks({"hall": asked})).allowed is allowed
