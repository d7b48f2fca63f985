"""The OpenAPI document that the service serves: valid, of every row, and its examples are what the service takes."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from ranger_cdap.service.api.openapi import examples
from ranger_cdap.service.api.routes import ApiRoute
from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.service.http.reply import JSON
from ranger_cdap.service.table import ROUTES
from tests.service.fixtures import World

Json = dict[str, Any]
IDS = [f"{row.method} {row.path}" for row in ROUTES]


@pytest.fixture(scope="module")
def document(world: World) -> Json:
    found: Json = world.ask("evaluate", "GET", "/openapi.json").json
    return found


def schemas(value: Any) -> list[Json]:
    """Every schema that stands in a `content`."""
    if isinstance(value, dict):
        own = [value["schema"]] if isinstance(value.get("schema"), dict) else []
        return own + [schema for inner in value.values() for schema in schemas(inner)]
    return [schema for inner in value for schema in schemas(inner)] if isinstance(value, list) else []


def test_it_is_an_openapi_document(document: Json) -> None:
    jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **document["components"]})
    assert document["openapi"] == "3.1.0"
    assert document["info"]["version"]
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    ids = [operation["operationId"] for operation in operations]
    assert len(ids) == len(set(ids))


def test_every_schema_is_one_and_every_reference_leads_somewhere(document: Json) -> None:
    for schema in [*schemas(document["paths"]), *document["components"]["schemas"].values()]:
        jsonschema_rs.validator_for({**schema, "components": document["components"]})


@pytest.mark.parametrize("row", ROUTES, ids=IDS)
def test_every_row_is_in_it_with_its_roles_bodies_and_errors(document: Json, row: ApiRoute) -> None:
    operation = document["paths"][row.path][row.method.lower()]
    assert operation["summary"] == row.summary
    assert operation.get("x-roles", []) == sorted(row.roles)
    assert bool(operation["security"]) is bool(row.roles)
    assert ("requestBody" in operation) is (row.takes is not None)
    if row.takes is not None:
        assert operation["requestBody"]["content"].keys() == {JSON}
    errors = {"413", "421", "429", "500", "503"}
    errors |= {"401", "403"} if row.roles else set()
    errors |= {"400", "408", "415"} if row.takes else set()
    assert operation["responses"].keys() >= {"200"} | errors
    for scheme in operation["security"]:
        assert scheme.keys() <= document["components"]["securitySchemes"].keys()


def test_it_says_nothing_of_what_is_not_there(document: Json) -> None:
    assert {(method.upper(), path) for path, methods in document["paths"].items() for method in methods} == {
        (row.method, row.path) for row in ROUTES
    }


POSTS = [row for row in ROUTES if row.method == "POST"]


@pytest.mark.parametrize("row", POSTS, ids=[row.path for row in POSTS])
def test_its_examples_are_what_the_service_takes_and_gives(document: Json, row: ApiRoute) -> None:
    example = examples()[row.path]
    operation = document["paths"][row.path]["post"]
    sent, came = (
        operation["requestBody"]["content"]["application/json"],
        operation["responses"]["200"]["content"]["application/json"],
    )
    assert (sent["example"], came["example"]) == (example["request"], example["answer"])
    assert row.takes is not None
    msgspec.convert(example["request"], row.takes)
    for part in (sent, came):
        jsonschema_rs.validator_for({**part["schema"], "components": document["components"]}).validate(part["example"])


@pytest.mark.parametrize("row", POSTS, ids=[row.path for row in POSTS])
def test_its_examples_are_answered(world: World, row: ApiRoute) -> None:
    who = min(row.roles, key=[CallerRole.DELEGATE, *CallerRole].index)
    answer = world.ask(who.value, "POST", row.path, json.dumps(examples()[row.path]["request"]).encode())
    assert answer.status == 200, answer.body


def test_anyone_reads_its_page_which_has_all_of_it_and_loads_nothing_from_elsewhere(world: World) -> None:
    found = {path: world.ask(None, "GET", path) for path in ("/openapi.json", "/", "/style.css")}
    assert {answer.status for answer in found.values()} == {200}
    page = html.unescape(found["/"].body.decode())
    assert found["/"].headers["content-type"] == "text/html; charset=utf-8"
    assert set(re.findall(r'(?:href|src)="([^"#][^"]*)"', page)) == {"/style.css", "/openapi.json"}
    assert "<script" not in page
    assert "url(" not in found["/style.css"].body.decode()
    assert [row.path for row in ROUTES if f'id="{row.path}"' not in page or f"{row.summary}." not in page] == []
    shown = [json.loads(text) for text in re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)]
    assert [row.path for row in POSTS if examples()[row.path]["request"] not in shown] == []
    assert next(iter(shown[0])) == next(iter(examples()[POSTS[0].path]["request"]))
