"""`/openapi.json`: the OpenAPI 3.1 document of the interface, generated from its routes; and a page of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from importlib.resources import files
from typing import Any, Final

import jinja2
import msgspec
from msgspec.structs import replace

from ranger_cdap.service.api.routes import ApiRoute
from ranger_cdap.service.http.reply import CSS, HTML, JSON, ErrorBody, Refused, Reply, text_error

PATH: Final = "/openapi.json"

_REF: Final = "#/components/schemas/{name}"
_REQUEST_ID: Final = {"type": "string", "minLength": 1, "maxLength": 128}
_BY_EVERY_ROUTE: Final = (413, 421, 429, 500, 503)
_BY_ROUTES_WITH_ROLES: Final = (401, 403)
_BY_ROUTES_WITH_BODIES: Final = (400, 408, 415)
_BY_REQUEST_GUARD: Final = frozenset({413, 421, 503})
"""Statuses that the request guard answers before the route is known, always as `ErrorBody`."""

_SCHEMES: Final = {
    "secret": {"type": "http", "scheme": "basic", "description": "The caller's name and secret."},
}


def routes(others: Sequence[ApiRoute]) -> tuple[ApiRoute, ...]:
    """Return the routes about the others and themselves, without sign-in: the document, and a page of it."""

    @cache
    def text() -> bytes:
        return msgspec.json.encode(document((*others, *ours)))

    @cache
    def page() -> bytes:
        environment = jinja2.Environment(
            loader=jinja2.PackageLoader(__package__), autoescape=True, undefined=jinja2.StrictUndefined
        )
        environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}  # not sorted
        return environment.get_template("interface.html").render(msgspec.json.decode(text())).encode()

    def row(path: str, content: Callable[[], bytes], summary: str, kind: str, gives: Any = None) -> ApiRoute:
        answer = Reply(200, b"", kind)
        return ApiRoute(
            "GET", path, frozenset(), lambda _: replace(answer, body=content()), summary, gives=gives, content_type=kind
        )

    ours = (
        row(PATH, text, "This document", JSON, dict[str, Any]),
        row("/", page, "This document as a page", HTML),
        row("/style.css", style, "Its style sheet", CSS),
    )
    return ours


@cache
def style() -> bytes:
    """Return the style sheet of pages."""
    return files(__package__).joinpath("templates", "style.css").read_bytes()


def document(routes: Iterable[ApiRoute]) -> dict[str, Any]:
    """Return the OpenAPI document of the routes."""
    routes = tuple(routes)
    types = dict.fromkeys(
        kind for route in routes for kind in (route.takes, route.gives, *route.also.values()) if kind is not None
    )
    schemas, components = msgspec.json.schema_components((*types, ErrorBody), ref_template=_REF)
    schema_of = dict(zip((*types, ErrorBody), schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, schema_of)
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
    """Return examples of requests and responses, by path: `request` and `answer`."""
    found: dict[str, Any] = msgspec.json.decode(files(__package__).joinpath("examples.json").read_bytes())
    return found


def _operation(route: ApiRoute, schema_of: Mapping[Any, Any]) -> dict[str, Any]:
    example = examples().get(route.path, {})
    operation: dict[str, Any] = {
        "operationId": _operation_id(route),
        "summary": route.summary,
        "parameters": [
            {"name": "X-Request-Id", "in": "header", "schema": _REQUEST_ID},
            *(
                {"name": name, "in": "query", "description": description, "schema": {"type": "string"}}
                for name, description in route.query.items()
            ),
        ],
        "responses": {str(status): answer for status, answer in sorted(_answers(route, schema_of, example).items())},
        "security": [{"secret": []}] if route.roles else [],
    }
    if route.roles:
        operation["description"] = f"For callers with one of the roles {', '.join(sorted(route.roles))}."
        operation["x-roles"] = sorted(route.roles)
    if route.takes is not None:
        content = _content(JSON, schema_of[route.takes], example.get("request"))
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _answers(route: ApiRoute, schema_of: Mapping[Any, Any], example: Mapping[str, Any]) -> dict[int, Any]:
    schema = {"type": "string"} if route.gives is None else schema_of[route.gives]
    answer = _content(route.content_type, schema, example.get("answer"))
    errors = {*_BY_EVERY_ROUTE, *route.also}
    errors.update(_BY_ROUTES_WITH_ROLES if route.roles else ())
    errors.update(_BY_ROUTES_WITH_BODIES if route.takes is not None else ())
    refusals = {status: _answer(status, _error_content(route, status, schema_of)) for status in errors}
    statuses = {200: _answer(200, answer)} | refusals
    if route.roles:
        statuses[401]["headers"]["WWW-Authenticate"] = {"required": True, "schema": {"type": "string"}}
    return statuses


def _error_content(route: ApiRoute, status: int, schema_of: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the body of an error: of the route's own form, of the request guard's, or both."""
    coded = schema_of[ErrorBody]
    own = route.error(Refused(status, ""))
    if status in route.also:
        content = {route.content_type: [schema_of[route.also[status]] if route.also[status] is not None else {}]}
    elif own.content_type != JSON:
        content = {own.content_type: [{"type": "string"}]}
    else:
        content = {JSON: [{"type": "string"} if route.error is text_error else coded]}
    if status in _BY_REQUEST_GUARD or status == HTTPStatus.INTERNAL_SERVER_ERROR:
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


def _operation_id(route: ApiRoute) -> str:
    words = [word for word in route.path.replace("-", "/").replace(".", "/").replace("_", "/").split("/") if word]
    return "_".join([route.method.lower(), *words])
