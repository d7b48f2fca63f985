"""Names of users and groups, as Ranger's engine transforms them before it decides: ours makes the same, or refuses."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Iterator
from typing import Any

import pytest

from ranger_cdap.engine.compiled.names import CONF, HANDLER
from ranger_cdap.errors import PolicySetError
from tests.differential.java_engine import HarnessError, JavaEngine
from tests.differential.our_engine import load, requests_of
from tests.differential.phenomena_plugin import ENRICHER
from tests.differential.small_documents import DEFINITION

Json = dict[str, Any]

pytestmark = pytest.mark.java

NAMES = (
    "alice",
    "EVE",
    "eve@example.com",
    "Bob Smith",
    "CN=x,O=y",
    "a.b-c_d",
    "DOM\\eve",
    "@x",
    "Straße",
    "Ünal",
    "aab1",
)
LETTERS = "abAB1._-@ é/\\\U0001d11e"
ATOMS = (
    *"abAB1 _@é,",
    ".",
    r"\.",
    r"\\",
    r"\-",
    r"\d",
    r"\w",
    r"\S",
    "[a-b]",
    "[^a-zA-Z0-9]",
    r"[\w.-]",
    "[é_]",
    "[^@]",
)
ODD = (
    *"*+?{}[]()|^$&-",
    r"\b",
    r"\pL",
    "(?i)",
    "[a&&b]",
    "(a)*",
    "a++",
    r"\1",
    r"\Q",
    "[b-a]",
    "a{,2}",
    "[[a]b]",
    "[a-",
)
REPEATS = ("", "", "", "*", "+", "?", "*?", "+?", "{2}", "{1,2}", "{1,}")
REPLACEMENTS = ("", "_", "x", "$1", "$0", "$2", "$10", "$01", r"\$", r"\x", "é", "$", "\\", "$a", "${n}")


class Drawer:
    """Drawer of configurations and names from a seed, the refused ones among them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def expression(self, depth: int = 2) -> str:
        one = self.random
        parts = []
        for _ in range(one.randint(1, 3)):
            drawn = one.random()
            if drawn < 0.2 and depth:
                branches = "|".join(self.expression(depth - 1) for _ in range(one.randint(1, 2)))
                parts.append(f"({one.choice(('', '', '?:'))}{branches})")
            elif drawn < 0.24:
                parts.append(one.choice(ODD))
            elif drawn < 0.34:
                parts.append(one.choice("^$"))
            else:
                parts.append(one.choice(ATOMS) + one.choice(REPEATS))
        return "".join(parts)

    def rule(self, separator: str) -> str:
        one = self.random
        replacement = "".join(one.choice(REPLACEMENTS[: one.choice((3, 5, 15))]) for _ in range(one.randint(0, 2)))
        expression = self.expression()
        if one.random() < 0.5:
            expression = f"({self.expression(0)}){one.choice(('', '.', '[@_]'))}"
            replacement = one.choice(("$1", "_$1", "$1$1", "x$0", "$01", "$1é$0"))
        text = separator.join(("s", expression, replacement, one.choice(("", "g"))))
        return text if one.random() < 0.9 else one.choice(("", "s/a", f"x{text}", text * 2, text[:-1]))

    def config(self) -> Json:
        one = self.random
        separator = one.choice("//////#,| ")
        drawn: Json = {}
        for kind in ("user", "group"):
            if one.random() < 0.7:
                case = one.choice(("lower", "upper", "LOWER", "none", "other"))
                drawn[f"ldap.{kind}name.caseconversion"] = case
            if one.random() < 0.85:
                drawn[f"mapping.{kind}name.handler"] = HANDLER if one.random() < 0.97 else "org.example.Other"
                base = f"mapping.{kind}name.regex"
                keys = [base, f"{base}.1", f"{base}.2", f"{base}.4"][: one.choice((0, 1, 1, 2, 4))]
                drawn |= {key: self.rule(separator) for key in keys}
        if one.random() < 0.95:
            drawn["mapping.regex.separator"] = separator
        return {CONF + key: value for key, value in drawn.items()}

    def name(self) -> str:
        one = self.random
        return one.choice(NAMES) if one.random() < 0.5 else "".join(one.choices(LETTERS, k=one.randint(1, 8)))

    def scenario(self) -> Json:
        one = self.random
        definition = {**DEFINITION, "contextEnrichers": [{"itemId": 1, "name": "users", "enricher": ENRICHER}]}
        switches = ("supports.name.transformation", "convert.emailToUser", "use.rangerGroups", "use.only.rangerGroups")
        chances = (0.9, 0.4, 0.4, 0.3)
        on = [key for key, chance in zip(switches, chances, strict=True) if one.random() < chance]
        users = list(dict.fromkeys(["alice", "eve", *(self.name() for _ in range(3))]))
        emails = list(dict.fromkeys(["eve@example.com", *(f"{self.name()}@{self.name()}" for _ in range(4))]))
        store = {
            "userStoreVersion": 1,
            "userGroupMapping": {user: [self.name()] for user in users},
            "userAttrMapping": {user: {"_emailAddress": email} for user, email in zip(users, emails, strict=False)},
        }
        asked = [(self.name(), [self.name() for _ in range(one.randint(0, 3))]) for _ in range(15)]
        asked += [(email, [self.name()]) for email in emails]
        name = definition["name"]
        return {
            "policies": {
                "serviceName": "s",
                "policyVersion": 1,
                "serviceDef": definition,
                "policies": [],
                "serviceConfig": self.config(),
            },
            "conf": {f"ranger.plugin.{name}.{key}": one.choice(("true", "TRUE")) for key in on},
            "userStore": store,
            "requests": [
                {"resource": {"r0": "a"}, "accessType": "read", "user": user, "groups": groups}
                for user, groups in asked
            ],
        }


def differences(scenario: Json, java: JavaEngine) -> Iterator[tuple[Json, Any] | None]:
    """Yield for each request that ours answers None, or its names by both if they differ."""
    try:
        engine = load(scenario)
    except PolicySetError:
        return
    try:
        java.load(scenario)
        theirs = java.evaluate(scenario["requests"])
    except HarnessError as e:
        theirs = [{"error": str(e)}] * len(scenario["requests"])
    for request, our, their in zip(scenario["requests"], requests_of(scenario, engine), theirs, strict=True):
        if not our.refused:
            same = our.user == their.get("user") and (not our.groups_known or set(their["groups"]) == our.groups)
            yield None if same else (request, (our.user, our.groups, their))


@pytest.fixture(scope="module")
def java() -> Iterator[JavaEngine]:
    with JavaEngine() as engine:
        yield engine


def test_a_name_becomes_what_java_makes_of_it_or_is_refused(java: JavaEngine) -> None:
    compared = 0
    for seed in range(700):
        scenario = Drawer(seed).scenario()
        for difference in differences(scenario, java):
            assert difference is None, (seed, scenario["policies"]["serviceConfig"], scenario["conf"], difference)
            compared += 1
    assert compared > 3000


def test_letters_known_since_unicode_3_2_change_case_as_in_java(java: JavaEngine) -> None:
    known = [chr(n) for n in range(0x20, 0x30000) if unicodedata.ucd_3_2_0.category(chr(n)) not in ("Cn", "Cs", "Co")]
    cased = [c for c in known if c.lower() != c or c.upper() != c]
    assert len(cased) > 1500
    for case in ("lower", "upper"):
        scenario = Drawer(1).scenario()
        scenario["policies"]["serviceConfig"] = {f"{CONF}ldap.username.caseconversion": case}
        scenario["conf"] = {f"ranger.plugin.{DEFINITION['name']}.supports.name.transformation": "true"}
        scenario["requests"] = [{"resource": {"r0": "a"}, "accessType": "read", "user": f"a{c}b"} for c in cased]
        found = list(differences(scenario, java))
        assert [one for one in found if one] == []
        assert len(found) >= len(cased) - 1  # all but the capital sigma


def test_an_audit_record_names_the_user_who_was_decided_about(java: JavaEngine) -> None:
    scenario = Drawer(1).scenario()
    scenario["policies"]["serviceConfig"] = {f"{CONF}ldap.username.caseconversion": "lower"}
    scenario["conf"] = {f"ranger.plugin.{DEFINITION['name']}.supports.name.transformation": "true"}
    scenario["requests"] = [{"resource": {"r0": "a"}, "accessType": "read", "user": "EVE"}]
    java.load(scenario)
    assert java.evaluate(scenario["requests"])[0]["auditedUser"] == "eve"


def test_a_group_conversion_without_a_handler_fails_in_java_and_is_refused_here(java: JavaEngine) -> None:
    scenario = Drawer(1).scenario()
    scenario["policies"]["serviceConfig"] = {f"{CONF}ldap.groupname.caseconversion": "upper"}
    scenario["conf"] = {f"ranger.plugin.{DEFINITION['name']}.supports.name.transformation": "true"}
    scenario["requests"] = [{"resource": {"r0": "a"}, "accessType": "read", "user": "eve", "groups": ["sales"]}]
    java.load(scenario)
    assert java.evaluate(scenario["requests"])[0]["error"].startswith("NullPointerException")
    with pytest.raises(PolicySetError, match="fails on each request with groups"):
        load(scenario)
