"""`docs/reference/extension-settings.md` says of every setting what the extension's source says."""

from __future__ import annotations

import re

from tests.docs.markdown_pages import ROOT

PAGE = (ROOT / "docs" / "reference" / "extension-settings.md").read_text(encoding="utf-8")
SOURCES = ROOT / "jvm" / "extension-common" / "src" / "main" / "java" / "rangercdap" / "extension"
JAVA = (SOURCES / "Settings.java").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `([a-z.]+)` \| ([^|]*) \|", PAGE, re.MULTILINE))


def constant(name: str) -> int:
    (found,) = re.findall(rf"int {name} = ([\d_]+);", JAVA)
    return int(found.replace("_", ""))


def test_every_setting_is_there_and_no_other() -> None:
    (listed,) = re.findall(r"KNOWN = .*?asList\((.*?)\)\)", JAVA, re.DOTALL)
    assert sorted(ROWS) == sorted(re.findall(r'"([^"]+)"', listed))


def test_defaults_are_those_of_the_source() -> None:
    names = {"LONGEST_CACHE": str(constant("LONGEST_CACHE")), "MOST_ENTRIES": str(constant("MOST_ENTRIES"))}
    texts = re.findall(r'text\("([\w.]+)", "([^"]*)"\)', JAVA)
    numbers = re.findall(r'number\("([\w.]+)", (\w+),', JAVA)
    said = dict(texts) | {key: names.get(default, default.replace("_", "")) for key, default in numbers}
    assert len(said) >= 6
    assert {key: ROWS[key].strip() for key in said} == {
        key: f"`{default}`" if default else "none" for key, default in said.items()
    }


def test_limits_are_those_of_the_source() -> None:
    assert f"1 to {constant('LONGEST_TIMEOUT'):,}" in PAGE
    assert f"{constant('LONGEST_CACHE')} at most" in PAGE
    assert f"{constant('MOST_ENTRIES'):,} at most" in PAGE


def test_names_of_callers_are_those_of_the_source() -> None:
    assert 'text(role + ".name", "cdap-" + role)' in JAVA
    for role in re.findall(r'credentials\("(\w+)"\)', JAVA):
        assert ROWS[f"{role}.name"].strip() == f"`cdap-{role}`"


def test_the_prefix_is_that_of_the_source() -> None:
    (prefix,) = re.findall(r'PREFIX = "([^"]+)"', JAVA)
    assert f"`{prefix}`" in PAGE
