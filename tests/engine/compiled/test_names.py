"""The configurations of names that are refused, because Ranger may make other names by them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from ranger_cdap.engine import EngineOptions, UncertainName
from ranger_cdap.engine.compiled.names import CONF, HANDLER, MAX_LENGTH, NameTransformation, name_transformation
from ranger_cdap.errors import PolicySetError

BASE = {"mapping.username.handler": HANDLER, "mapping.regex.separator": "/"}
USER_RULE = "mapping.username.regex"


def names(config: Mapping[str, str]) -> NameTransformation:
    return name_transformation(
        EngineOptions(transform_names=True), {CONF + key: value for key, value in config.items()}, None
    )


@pytest.mark.parametrize(
    "expression",
    [
        "(?i)a", r"\bx", r"\p{L}", "(a)*", "a++", "[a&&b]", "[[a]]", r"\Qa", r"(a)\1", "[b-a]", "(a", "a)", "a{2,1}",
        ".*.*.*", "*", "a{,2}", "[a", "[]", "(?=a)", "\\",
    ],
)  # fmt: skip
def test_a_rule_is_refused_with_its_key_if_it_may_mean_something_else_in_java(expression: str) -> None:
    with pytest.raises(PolicySetError, match="not certain to mean the same as in Java"):
        names({**BASE, USER_RULE: f"s/{expression}/x/g"})


@pytest.mark.parametrize("replacement", ["$", "$2", "$a", "${n}", "x\\"])
def test_a_replacement_is_refused_if_java_could_not_use_it(replacement: str) -> None:
    with pytest.raises(PolicySetError, match="names no group"):
        names({**BASE, USER_RULE: f"s/(a)/{replacement}/"})


def test_another_handler_or_an_odd_separator_is_refused() -> None:
    for changed in ({"mapping.username.handler": "org.example.X"}, {"mapping.regex.separator": "|"}):
        with pytest.raises(PolicySetError):
            names({**BASE, USER_RULE: "s/a/b/", **changed})
    with pytest.raises(PolicySetError, match="separator"):
        names({"mapping.username.handler": HANDLER, USER_RULE: "s/a/b/"})
    assert names({"mapping.username.handler": HANDLER}).changes == ()


def test_what_is_refused_has_no_effect_without_the_setting() -> None:
    config = {f"{CONF}mapping.username.handler": "org.example.X"}
    assert name_transformation(EngineOptions(), config, None).user("EVE") == "EVE"


def test_a_rule_is_applied_as_often_as_it_matches_and_the_rules_in_order() -> None:
    made = names({**BASE, USER_RULE: "s/ /_/", f"{USER_RULE}.1": "s/(.*)@.*/$1/g", f"{USER_RULE}.3": "s/b/never/"})
    assert made.user("bob a smith@x") == "bob_a_smith"


def test_a_name_that_java_holds_otherwise_is_uncertain_where_rules_apply() -> None:
    made = names({**BASE, USER_RULE: "s/a/b/"})
    for name in ("a\n", "a\u2028", "\U0001f600", "a" * (MAX_LENGTH + 1)):
        with pytest.raises(UncertainName):
            made.user(name)
