"""The configurations of names that are refused, because Ranger may make other names by them."""

from __future__ import annotations

import string
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine import EngineOptions, UncertainName
from ranger_cdap.engine.compiled.names import CONF, HANDLER, MAX_LENGTH, NameTransformation, name_transformation
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.download import UserStore

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


PRINTABLE = [chr(c) for c in range(32, 127)]
WORD = {*string.ascii_letters, *string.digits, "_"}
MEMBERS = {
    # what stands in a set, and the characters that are in it
    "a-c": set("abc"), "X-Z": set("XYZ"), "0-2": set("012"), "k": {"k"}, "K": {"K"}, ".": {"."}, "$": {"$"},
    "*": {"*"}, "(": {"("}, "|": {"|"}, " ": {" "}, "#": {"#"}, "~": {"~"}, r"\.": {"."}, r"\]": {"]"}, r"\[": {"["},
    r"\^": {"^"}, r"\-": {"-"}, r"\&": {"&"}, r"\\": {"\\"}, r"\d": set(string.digits),
    r"\D": {*PRINTABLE} - {*string.digits}, r"\w": WORD, r"\W": {*PRINTABLE} - WORD, r"\s": {" "},
    r"\S": {*PRINTABLE} - {" "},
}  # fmt: skip


@given(st.lists(st.sampled_from(sorted(MEMBERS)), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_a_set_finds_exactly_its_characters(several: list[str], negated: bool, ends_in_a_dash: bool) -> None:
    written = f"[{'^' * negated}{''.join(several)}{'-' * ends_in_a_dash}]"
    made = names({**BASE, USER_RULE: f"s/{written}/<>/"})
    members = set().union(*(MEMBERS[one] for one in several), "-" * ends_in_a_dash)
    for character in PRINTABLE:
        is_found = (character in members) is not negated
        assert (made.user(character) == "<>") is is_found, (written, character)


SINGLE = [
    # an expression, a name, and the name after `s/…/<>/`
    (".", "ab", "<><>"),
    (r"\.", "a.b", "a<>b"),
    (r"\$", "a$b", "a<>b"),
    (r"\d+", "a12b3", "a<>b<>"),
    ("a{2}", "aaa", "<>a"),
    ("a{1,2}?", "aa", "<><>"),
    ("[a-c]{2,}", "xabcx", "x<>x"),
    ("(?:a|b)c", "acbcc", "<><>c"),
    ("^a|b$", "aabb", "<>ab<>"),
    ("[.]", "a.b", "a<>b"),
    ("[^a]", "aba", "a<>a"),
    ("", "ab", "ab"),  # no rule
]


@pytest.mark.parametrize(("expression", "name", "expected"), SINGLE)
def test_an_expression_finds_what_java_finds(expression: str, name: str, expected: str) -> None:
    assert names({**BASE, USER_RULE: f"s/{expression}/<>/"}).user(name) == expected


CASES = [
    # the setting, a name, and what becomes of it; None where it is uncertain
    ("lower", "EvÉ", "evé"),
    ("LOWER", "EVE", "eve"),
    ("upper", "eve ß", "EVE SS"),
    ("Upper", "évé", "ÉVÉ"),
    ("none", "Eve", "Eve"),
    ("", "Eve", "Eve"),
    ("lower", "\u03a3A", None),  # capital sigma: the end of a word
    ("upper", "\u03c3", "\u03a3"),
    ("lower", "\u1c90", None),  # a letter of Unicode 11
    ("upper", "\u1c90", None),
    ("lower", "A\u00df", "a\u00df"),
]


@pytest.mark.parametrize(("setting", "name", "expected"), CASES)
@pytest.mark.parametrize("kind", ["user", "group"])
def test_names_are_converted_to_one_case(kind: str, setting: str, name: str, expected: str | None) -> None:
    handler = {"mapping.groupname.handler": HANDLER} if kind == "group" else {}
    made = names({f"ldap.{kind}name.caseconversion": setting, **handler})
    assert made.changes == (((f"names of {kind}s"),) if setting.lower() in ("lower", "upper") else ())
    if kind == "group":
        assert made.user("EvE") == "EvE"
        expected_groups = frozenset() if expected is None else frozenset({expected})
        assert made.groups(frozenset({name})) == (expected_groups, expected is not None)
        return
    assert made.groups(frozenset({"Ops"})) == (frozenset({"Ops"}), True)
    if expected is None:
        with pytest.raises(UncertainName, match="not every Java converts the case"):
            made.user(name)
    else:
        assert made.user(name) == expected


STORE = UserStore(
    user_attr_mapping={
        "al": {"_emailAddress": "a@x"}, "b": {"_emailAddress": "b@x"}, "c": {"_emailAddress": "b@x"},
        "d": {"_emailAddress": "b@x"}, " ": {"_emailAddress": "blank@x"}, "e": {"mail": "e@x"},
        "low": {"_emailAddress": "low@x"}, "f": {"_emailAddress": "F@x"},
    }
)  # fmt: skip
EMAILS = [
    # a name, and the user that it stands for; None where that is uncertain
    ("a@x", "al"),
    ("a@y", "a"),  # nobody's address: what stands before the `@`
    ("a@x@x", "a"),
    ("b@x", None),  # of three users
    ("blank@x", "blank"),  # of a user without a name
    ("e@x", "e"),
    ("f@x", "f"),  # the case counts
    ("F@x", "f"),
    ("@x", "@x"),
    ("a", "a"),
    ("al", "al"),
    ("", ""),
]


@pytest.mark.parametrize(("name", "expected"), EMAILS)
def test_an_e_mail_address_stands_for_its_user(name: str, expected: str | None) -> None:
    made = name_transformation(EngineOptions(email_to_user=True), {}, STORE)
    assert made.changes == ("e-mail addresses",)
    assert name_transformation(EngineOptions(), {}, STORE).user(name) == name
    if expected is None:
        with pytest.raises(UncertainName, match="several users"):
            made.user(name)
    else:
        assert made.user(name) == expected
    assert name_transformation(EngineOptions(email_to_user=True), {}, None).user(name) == (
        name.partition("@")[0] or name
    )


def test_the_case_is_converted_before_the_address_is_looked_up() -> None:
    config = {f"{CONF}ldap.username.caseconversion": "lower"}
    made = name_transformation(EngineOptions(transform_names=True, email_to_user=True), config, STORE)
    assert (made.user("LOW@X"), made.user("F@X"), made.changes) == ("low", "f", ("names of users", "e-mail addresses"))
