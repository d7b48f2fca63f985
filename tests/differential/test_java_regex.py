"""`validationRegEx` in the embedded Ranger Admin: what it accepts as a pattern decides as Ranger's own validator."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from ranger_cdap.testing.admin.rules.java_regex import compile_java
from servicedef import service_definition
from tests.differential.java_engine import JavaEngine

pytestmark = pytest.mark.java

NAMED = (
    *(
        r"\w+",
        r"\d+",
        "(?i)e+",
        "(?i)[a-z]+",
        ".*",
        "[a-z&&b]",
        r"\p{Alpha}+",
        r"a\z",
        r"\Qa.b\E+",
        r"\h+",
        r"\s+",
        r"\S+",
    ),
    *(
        "[a-z]+$|x",
        "^a|b$",
        "(a$)?.",
        r"\|^b",
        r"[\s\S]*",
        "[^a]*",
        "a{2,3}",
        "a?+a",
        "(?=a)a",
        r"\ba",
        "a|",
        "(?:a|b)*",
        r"\p{L}+",
    ),
    *(
        r"^[/*]$|^\/.*?[^\/]$",
        "[a-zA-Z0-9_*?]+|[^{]*\\{[\\s\\S]*",
        "[a-",
        "a**",
        "(",
        "a{1",
        "[]a]",
        "[a-b-c]",
        r"[\w-]+",
        "[a^]+",
        r"(?i)\p{Lower}+",
    ),
)
ATOMS = (
    *(
        "a",
        "b",
        "E",
        ".",
        r"\w",
        r"\d",
        r"\s",
        r"\h",
        r"\W",
        r"\S",
        r"\.",
        r"\{",
        "[a-c]",
        "[^a-c]",
        r"[\w.]",
        r"[^\s]",
        r"[a\-z]",
        "[*?]",
    ),
    *(
        r"\p{Alpha}",
        r"\p{Lower}",
        r"\Q.*\E",
        "(a|b)",
        "(?:ab|)",
        "-",
        "/",
        r"\z",
        "$",
        "^",
        r"\t",
        "\\n",
        r"[\n]",
        "&",
        "\N{LATIN SMALL LETTER E WITH ACUTE}",
    ),
)
REPEATED = ("", "", "", "*", "+", "?", "{2}", "{1,2}", "*?", "+?")
VALUES = (
    *(
        "a",
        "b",
        "ab",
        "aa",
        "abc",
        "A",
        "E",
        "e",
        "1",
        "a1",
        "_",
        "-",
        "/",
        "/a",
        "*",
        "?",
        ".",
        ".*",
        "{",
        "a.b",
        "a.bb",
        "&",
        "a&b",
        "A.B",
    ),
    *(
        "a\n",
        "\n",
        "a\r",
        "\x85",
        "\u2028",
        "a\nb",
        "\t",
        " a",
        "a b",
        "\xa0",
        "\u3000",
        "\N{LATIN SMALL LETTER E WITH ACUTE}",
        "\u0663",
        "\u212a",
        "\u017f",
        "ss",
    ),
)

WHITE_HERE = "\x85\xa0"
"""Blank to Python, and not to Java, which does not validate a blank value."""


def drawn(random: Random) -> str:
    pattern = "".join(random.choice(ATOMS) + random.choice(REPEATED) for _ in range(random.randint(1, 4)))
    return random.choice(("", "", "(?i)", "^")) + pattern + random.choice(("", "", "$", "|a", "$|b", "|^a$"))


def refused_by_java(java: JavaEngine, pattern: str) -> set[str]:
    """The values that Ranger refuses."""
    definition: dict[str, Any] = service_definition()
    next(row for row in definition["resources"] if row["name"] == "namespace")["validationRegEx"] = pattern
    policies = [
        {
            "name": f"p{n}",
            "service": "cdapdev",
            "resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": [value]}},
            "policyItems": [{"users": ["alice"], "accesses": [{"type": "read"}]}],
        }
        for n, value in enumerate(VALUES)
    ]
    _, answers = java.validate(definition, "cdapdev", policies)
    return {value for value, answer in zip(VALUES, answers, strict=True) if "error code[3018]" in (answer or "")}


def test_a_pattern_refuses_the_values_that_ranger_refuses(java: JavaEngine) -> None:
    random = Random(49)
    different, compiled = {}, 0
    for pattern in dict.fromkeys((*NAMED, *(drawn(random) for _ in range(1_500)))):
        if (ours := compile_java(pattern)) is None:
            continue
        compiled += 1
        here = {value for value in VALUES if not ours.fullmatch(value) and (value.strip() or value in WHITE_HERE)}
        if (there := refused_by_java(java, pattern)) != here:
            different[pattern] = (ours.pattern, there ^ here)
    assert different == {}
    assert compiled > 700
