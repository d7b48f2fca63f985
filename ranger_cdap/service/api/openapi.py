"""`/openapi.json`: the interface as an OpenAPI 3.1 document, made from the rows that answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

import msgspec

from ranger_cdap.service.api.routes import Row
from ranger_cdap.service.http.callers import Role
from ranger_cdap.service.http.reply import JSON, ErrorBody, Refused, Reply, text_error
from ranger_cdap.service.state.call import Call

PATH: Final = "/openapi.json"

_REF: Final = "#/components/schemas/{name}"
_REQUEST_ID: Final = {"type": "string", "pattern": "^[A-Za-z0-9._:-]{1,128}$"}
_BY_EVERY_ROW: Final = (413, 421, 429, 500, 503)
_BY_ROWS_WITH_ROLES: Final = (401, 403)
_BY_ROWS_WITH_BODIES: Final = (400, 408, 415)
_BY_THE_GATE: Final = frozenset({413, 421, 503})
"""Statuses that are answered before anybody knows which row is meant, always as `ErrorBody`."""

_SCHEMES: Final = {
    "secret": {"type": "http", "scheme": "basic", "description": "The caller's name and secret."},
    "token": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A token, where `[service.jwt]` is configured.",
    },
}


def row(others: Sequence[Row]) -> Row:
    """The row that answers with the document about the others and itself; for every caller."""

    def answer(_call: Call) -> Reply:
        return Reply(200, text())

    @cache
    def text() -> bytes:
        return msgspec.json.encode(document((*others, itself)))

    itself = Row("GET", PATH, frozenset(Role), answer, "This document", gives=dict[str, Any])
    return itself


def document(rows: Iterable[Row]) -> dict[str, Any]:
    """The rows as an OpenAPI document."""
    rows = tuple(rows)
    types = dict.fromkeys(
        kind for row in rows for kind in (row.takes, row.gives, *row.also.values()) if kind is not None
    )
    schemas, components = msgspec.json.schema_components((*types, ErrorBody), ref_template=_REF)
    schema_of = dict(zip((*types, ErrorBody), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for row in rows:
        paths.setdefault(row.path, {})[row.method.lower()] = _operation(row, schema_of)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "ranger-cdap decision service",
            "version": version("ranger-cdap"),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {"schemas": components, "securitySchemes": _SCHEMES},
    }


@cache
def examples() -> Mapping[str, Any]:
    """Examples of requests and responses, by path: `request` and `answer`."""
    data = files(__package__).joinpath("examples.json").read_bytes()
    found: dict[str, Any] = msgspec.json.decode(data)
    return found


def _operation(row: Row, schema_of: Mapping[Any, Any]) -> dict[str, Any]:
    example = examples().get(row.path, {})
    operation: dict[str, Any] = {
        "operationId": _operation_id(row),
        "summary": row.summary,
        "parameters": [
            {"name": "X-Request-Id", "in": "header", "schema": _REQUEST_ID},
            *(
                {"name": name, "in": "query", "description": told, "schema": {"type": "string"}}
                for name, told in row.query.items()
            ),
        ],
        "responses": {str(status): answer for status, answer in sorted(_answers(row, schema_of, example).items())},
        "security": [{"secret": []}, {"token": []}] if row.roles else [],
    }
    if row.roles:
        operation["description"] = f"For callers with one of the roles {', '.join(sorted(row.roles))}."
        operation["x-roles"] = sorted(row.roles)
    if row.takes is not None:
        content = _content(JSON, schema_of[row.takes], example.get("request"))
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _answers(row: Row, schema_of: Mapping[Any, Any], example: Mapping[str, Any]) -> dict[int, Any]:
    schema = {"type": "string"} if row.gives is None else schema_of[row.gives]
    statuses = {200: _answer(200, _content(row.content_type, schema, example.get("answer")))}
    errors = {*_BY_EVERY_ROW, *row.also}
    errors.update(_BY_ROWS_WITH_ROLES if row.roles else ())
    errors.update(_BY_ROWS_WITH_BODIES if row.takes is not None else ())
    for status in errors:
        statuses[status] = _answer(status, _error_content(row, status, schema_of))
    if row.roles:
        statuses[401]["headers"]["WWW-Authenticate"] = {"required": True, "schema": {"type": "string"}}
    return statuses


def _error_content(row: Row, status: int, schema_of: Mapping[Any, Any]) -> dict[str, Any]:
    """The body of an error: of the route's own form, of the request guard's, or both."""
    coded = schema_of[ErrorBody]
    own = row.error(Refused(status, ""))
    if status in row.also:
        content = {row.content_type: [schema_of[row.also[status]] if row.also[status] is not None else {}]}
    elif own.content_type != JSON:
        content = {own.content_type: [{"type": "string"}]}
    else:
        content = {JSON: [{"type": "string"} if row.error is text_error else coded]}
    if status in _BY_THE_GATE or status == HTTPStatus.INTERNAL_SERVER_ERROR:
        forms = content.setdefault(JSON, [])
        if coded not in forms:
            forms.append(coded)
    return {kind: {"schema": forms[0] if len(forms) == 1 else {"anyOf": forms}} for kind, forms in content.items()}


def _answer(status: int, content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "description": HTTPStatus(status).phrase,
        "headers": {"X-Request-Id": {"required": True, "schema": _REQUEST_ID}},
        "content": content,
    }


def _content(kind: str, schema: Any, example: Any) -> dict[str, Any]:
    return {kind: {"schema": schema} if example is None else {"schema": schema, "example": example}}


def _operation_id(row: Row) -> str:
    words = [word for word in row.path.replace("-", "/").replace(".", "/").replace("_", "/").split("/") if word]
    return "_".join([row.method.lower(), *(words or ["page"])])
