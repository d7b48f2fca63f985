"""HTTP responses: a status and a body, and the errors of the two families of interfaces."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import msgspec

JSON = "application/json"

# Names that Ranger's Policy Decision Point has for them (decision-api.md); ours for the others.
_CODES = {
    400: "BAD_REQUEST",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    413: "PAYLOAD_TOO_LARGE",  # Python has another name for it in each release
    500: "INTERNAL_SERVER_ERROR",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """Status, body and further headers of an answer."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


class ErrorBody(msgspec.Struct):
    """An error, as Ranger's Policy Decision Point returns it."""

    code: str
    message: str


class Refused(Exception):
    """A request that is not answered; `message` is one sentence for the author of the request."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def json_reply(value: Any, status: int = 200) -> Reply:
    """The value as JSON."""
    return Reply(status, msgspec.json.encode(value))


def coded_error(refused: Refused) -> Reply:
    """`{"code": …, "message": …}`, as Ranger's Policy Decision Point has it."""
    code = _CODES.get(refused.status) or HTTPStatus(refused.status).name
    return json_reply(ErrorBody(code, refused.message), refused.status)


def text_error(refused: Refused) -> Reply:
    """The message alone as a JSON string, as AuthZEN has it; a body that is not called JSON is a bad request there."""
    return json_reply(refused.message, 400 if refused.status == 415 else refused.status)
