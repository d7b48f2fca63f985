"""The files of the Helm chart, without Helm: what they say twice agrees, and no secret can be given as a value."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Any, get_args

import jsonschema_rs
import msgspec
import pytest
import yaml

from ranger_cdap import __version__
from ranger_cdap.config.secret import Secret
from ranger_cdap.config.settings import Settings
from ranger_cdap.config.table import Table
from tests.docker.chart_values import ALTERNATIVES, BASE, NEEDS, nested
from tests.docker.fixtures import ROOT
from tests.docker.helm import CHART
from tests.docs.markdown_pages import Block, blocks

VALUES = (CHART / "values.yaml").read_text(encoding="utf-8")
PAGES = (CHART / "README.md", ROOT / "docs" / "how-to" / "run-on-kubernetes.md")
SCHEMA = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("chart", ROOT / ".ci" / "chart.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MADE = script()


def documented(text: str) -> Iterator[tuple[str, str]]:
    """Each value of `values.yaml` by its path, with the comment above it; a value below it belongs to it."""
    path: list[str] = []
    comment: list[str] = []
    for line in text.splitlines():
        if found := re.match(r"( *)# (.*)", line):
            comment.append(found[2])
        elif found := re.match(r"( *)([A-Za-z]\w*):", line):
            path = [*path[: len(found[1]) // 2], found[2]]
            if comment:
                yield ".".join(path), " ".join(comment)
            comment = []
        else:
            comment = []


DOCUMENTED = dict(documented(VALUES))


def leaves(values: Any, path: str = "") -> Iterator[str]:
    """The paths of values down to those that have a comment, or to a value without one."""
    if path in DOCUMENTED or not isinstance(values, dict):
        yield path
    else:
        for key, below in values.items():
            yield from leaves(below, f"{path}.{key}".lstrip("."))


def secrets(wanted: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], bool]]:
    """The settings that are secrets, by their keys, and whether each is one of a table of them."""
    for one in (wanted, *get_args(wanted)):
        if one is Secret:
            yield path, wanted is not Secret and isinstance(wanted, type(dict[str, str]))
        elif isinstance(one, type) and issubclass(one, Table):
            for field in msgspec.structs.fields(one):
                yield from secrets(field.type, (*path, field.name))


SECRETS = sorted({keys for keys, _ in secrets(Settings)})


def test_the_schema_is_the_one_that_make_chart_makes() -> None:
    text = MADE.SCHEMA.read_text(encoding="utf-8")
    assert MADE.schema(text) == text


def test_every_value_has_a_comment_and_other_values_that_are_tried() -> None:
    values = set(leaves(yaml.safe_load(VALUES)))
    assert values == DOCUMENTED.keys() == ALTERNATIVES.keys()
    assert NEEDS.keys() <= values


def test_the_schema_takes_the_defaults_and_all_that_is_tried() -> None:
    validator = jsonschema_rs.validator_for(SCHEMA)
    defaults = yaml.safe_load(VALUES)
    assert [error.message for error in validator.iter_errors(defaults)] == []
    for path, found in ALTERNATIVES.items():
        for value in found:
            assert [f"{path}: {error.message}" for error in validator.iter_errors(nested(BASE | {path: value}))] == []


@pytest.mark.parametrize("block", [each for page in PAGES for each in blocks(page, "yaml")], ids=str)
def test_the_schema_takes_the_values_that_a_page_shows(block: Block) -> None:
    validator = jsonschema_rs.validator_for(SCHEMA)
    assert [error.message for error in validator.iter_errors(yaml.safe_load(block.text))] == []


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for below in schema.values():
            yield from objects(below)
    elif isinstance(schema, list):
        for below in schema:
            yield from objects(below)


def test_the_schema_is_strict_everywhere_but_in_what_helm_hands_down() -> None:
    """`global` is Helm's own, for charts that contain this one."""
    loose = [each for each in objects(SCHEMA) if each.get("additionalProperties", True) is True]
    assert loose == [SCHEMA["properties"]["global"]]


def schema_of(schema: Any, keys: tuple[str, ...]) -> Any:
    """The schema of a setting; None where the chart does not take it."""
    while "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]
    if schema.get("type") == "array":
        return schema_of(schema["items"], keys)
    if not keys:
        return schema.get("additionalProperties") or schema
    below = schema.get("properties", {}).get(keys[0])
    return None if below is None else schema_of(below, keys[1:])


def test_no_secret_of_the_settings_can_be_given_as_text() -> None:
    assert len(SECRETS) > 10
    definitions = SCHEMA["$defs"]
    places = [definitions[name] for name in ("settings", "decisionServiceSettings", "syncSettings")]
    found = {keys: [each for place in places if (each := schema_of(place, keys))] for keys in SECRETS}
    found["service", "callers", "secret"] = [schema_of(definitions["caller"], ("secret",))]
    for key in ("marker", "options"):
        found["sync", "sources", key] = [schema_of(definitions["source"], (key,))]
    # The chart decides these, by values that are keys.
    assert {keys for keys, schemas in found.items() if not schemas} == {("plugin", "password"), ("sync", "password")}
    for schemas in found.values():
        for schema in schemas:
            validator = jsonschema_rs.validator_for({**schema, "$defs": definitions})
            assert validator.is_valid({"secretKey": "a.key"})
            for text in ("hunter2", "file:/run/secrets/x", "env:X", {"secretKey": "../x"}, {"secretKey": "x", "y": 1}):
                assert not validator.is_valid(text)


def test_the_versions_are_those_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)
