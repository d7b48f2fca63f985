"""The service definition and the jar say the same of the look-up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import servicedef
from tests.differential.java_engine import JavaEngine
from tests.lookup.ranger_service import LOOKUP_PATIENCE, TEST_PATIENCE

DEFINITION = servicedef.service_definition()
CONFIGS = {row["name"]: row for row in DEFINITION["configs"] if row["name"] != servicedef.AUDIT_FILTERS}
JAVA = Path(__file__).parents[2] / "jvm" / "ranger-lookup" / "src" / "main" / "java" / "rangercdap" / "lookup"


def test_the_class_is_that_of_the_jar() -> None:
    assert (JAVA / f"{servicedef.LOOKUP_CLASS.rpartition('.')[2]}.java").exists()


def test_the_settings_of_a_service_are_those_that_the_jar_reads() -> None:
    source = (JAVA / "LookupConfig.java").read_text(encoding="utf-8")
    names = dict(re.findall(r'static final String (\w+) = "([\w.]+)";', source))
    numbers = re.findall(r"return number\((\w+), ([\d_]+), ([\d_]+), ([\d_]+)\);", source)

    assert set(CONFIGS) == set(names.values())
    assert {names[name]: normal.replace("_", "") for name, normal, _, _ in numbers} == {
        name: row["defaultValue"] for name, row in CONFIGS.items() if row["type"] == "int"
    }
    longest = {names[name]: int(most.replace("_", "")) for name, _, _, most in numbers}
    assert longest["cdap.lookup.timeout.ms"] < LOOKUP_PATIENCE
    assert longest["cdap.test.timeout.ms"] < TEST_PATIENCE
    for name, _, least, most in numbers:
        row = CONFIGS[names[name]]
        assert f"from {least.replace('_', '')} to {most.replace('_', '')}" in row["description"]


@pytest.mark.java
@pytest.mark.parametrize("on", [False, True])
def test_ranger_accepts_the_definition(java: JavaEngine, on: bool) -> None:
    assert java.validate(servicedef.with_lookup(DEFINITION, on=on), "cdapdev", []) == (None, [])
