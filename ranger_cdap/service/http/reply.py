"""HTTP responses: a status and a body, and the errors of the two families of interfaces."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec

JSON = "application/json"
HTML = "text/html; charset=utf-8"
CSS = "text/css; charset=utf-8"

# Names as in Ranger's Policy Decision Point (decision-api.md); our own for the others.
_CODES = {
    400: "BAD_REQUEST",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    413: "PAYLOAD_TOO_LARGE",  # Python's name for it depends on the release
    500: "INTERNAL_SERVER_ERROR",
}


_encode = msgspec.json.Encoder().encode


class Reply(msgspec.Struct, frozen=True):
    """Status, body and further headers of a response."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = {}


class ErrorBody(msgspec.Struct):
    """An error, in the format of Ranger's Policy Decision Point."""

    code: str
    message: str


class Refused(Exception):
    """Rejected request; `message` is one sentence for the request's author."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def json_reply(value: Any, status: int = 200) -> Reply:
    """Return the value as JSON."""
    return Reply(status, _encode(value))


def coded_error(refused: Refused) -> Reply:
    """Return `{"code": …, "message": …}`, in the format of Ranger's Policy Decision Point."""
    code = _CODES.get(refused.status) or HTTPStatus(refused.status).name
    return json_reply(ErrorBody(code, refused.message), refused.status)


def text_error(refused: Refused) -> Reply:
    """Return the message alone as a JSON string, in AuthZEN's format, where another content type is a bad request."""
    return json_reply(refused.message, 400 if refused.status == 415 else refused.status)
