"""Responses of the server: Ranger's five error shapes, and `Refusal`, which carries one of them out of a handler."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from ranger_cdap.testing.admin.model.validation import ValidationFailure, failure_text

T = TypeVar("T")

JSON = "application/json"
HTML = "text/html;charset=utf-8"


@dataclass(frozen=True, slots=True)
class ServerResponse:
    """Status, body and content type, as far as there are any; on 401 Ranger omits the type of its body."""

    status: int
    body: bytes = b""
    content_type: str | None = None


class Refusal(Exception):
    """An error response raised by a handler; it never leaves this package."""

    def __init__(self, response: ServerResponse) -> None:
        super().__init__(f"{response.status}: {response.body[:200].decode('utf-8', 'replace')}")
        self.response = response


@dataclass(frozen=True, slots=True)
class Reason:
    """A row of `REASONS`: the resource key and text of an entry in `messageList`."""

    key: str
    message: str


REASONS: dict[str, Reason] = {
    "DATA_NOT_FOUND": Reason("xa.error.data_not_found", "Data not found"),
    "DATA_NOT_UPDATABLE": Reason("xa.error.data_not_updatable", "Data not updatable"),
    "ERROR_DUPLICATE_OBJECT": Reason("xa.error.duplicate_object", "Error creating duplicate object"),
    "INPUT_DATA_OUT_OF_BOUND": Reason("xa.validation.data_out_of_bound", "Input data if out of bound"),
    "INVALID_INPUT_DATA": Reason("xa.validation.invalid_input_data", "Invalid input data"),
    "INVALID_PASSWORD": Reason("xa.validation.invalid_password", "Invalid password"),
    "OPER_NOT_ALLOWED_FOR_ENTITY": Reason("xa.error.oper_not_allowed_for_state", "Operation not allowed for entity"),
    "OPER_NOT_ALLOWED_FOR_STATE": Reason("xa.error.oper_not_allowed_for_state", "Operation not allowed for entity"),
}


def json_response(value: Any, status: int = 200) -> ServerResponse:
    """Return a value as JSON."""
    return ServerResponse(status, msgspec.json.encode(value), JSON)


def page(status: int, title: str) -> ServerResponse:
    """Return the substitute of Ranger's login page or Tomcat's error page."""
    return ServerResponse(
        status, f"<!doctype html><html lang='en'><title>{title}</title><h1>{title}</h1>".encode(), HTML
    )


def refuse(message: str, status: int = 400, code: int | None = None) -> Refusal:
    """Return `{"statusCode", "msgDesc"}`; the code is the HTTP status unless Ranger uses another."""
    return Refusal(json_response({"statusCode": status if code is None else code, "msgDesc": message}, status))


def refuse_because(reason: str, message: str, *, object_id: int | None = None, field: str | None = None) -> Refusal:
    """Return 400 with a `messageList` of one row of `REASONS`."""
    row = REASONS[reason]
    entry: dict[str, Any] = {"name": reason, "rbKey": row.key, "message": row.message}
    if object_id is not None:
        entry["objectId"] = object_id
    if field is not None:
        entry["fieldName"] = field
    return Refusal(json_response({"statusCode": 1, "msgDesc": message, "messageList": [entry]}, 400))


def refuse_invalid(problems: Iterable[ValidationFailure]) -> Refusal:
    """Return 400 with all failed rules in one message."""
    return refuse(failure_text(problems), code=1)


def refuse_unreadable(message: str, exception: str, package: str) -> Refusal:
    """Return 400 for JSON that cannot be parsed, or that does not fit Ranger's class."""
    named = {"message": message, "exception": exception, "javaClassName": f"{package}.{exception}"}
    return Refusal(json_response({"RemoteException": named}, 400))


def found(stored: T | None, refusal: Refusal) -> T:
    """Return the object; raises the refusal if it is None."""
    if stored is None:
        raise refusal
    return stored


NOT_AUTHENTICATED = ServerResponse(401, msgspec.json.encode({"statusCode": 401, "msgDesc": "Authentication Failed"}))
SESSION_TIMEOUT = ServerResponse(419, msgspec.json.encode({"statusCode": 419, "msgDesc": "Session Timeout"}))
DONE = {"httpStatusCode": 0, "statusCode": 0}
"""Response to a grant or revoke."""


def not_found() -> Refusal:
    """Return 404 for an unknown name."""
    return refuse("Not found", 404)


def not_found_by_id(object_id: int, of: str = "") -> Refusal:
    """Return 400 for an unknown id; `of` is the Java class Ranger names for policies."""
    return refuse_because("DATA_NOT_FOUND", f"{of}Data Not Found for given Id", object_id=object_id)


def unknown(name: str) -> Refusal:
    """Return 400 for an unknown user or group, by name or id."""
    return refuse_because("DATA_NOT_FOUND", f"{name} is Not Found")


def service_not_found(name: str) -> Refusal:
    """Return 404 for the download of an unknown service: the only text a plugin interprets as *deleted*."""
    quoted = f'"RANGER_ERROR_SERVICE_NOT_FOUND: ServiceName={name}"'
    response = f"org.apache.ranger.view.VXResponse@0statusCode={{404}} msgDesc={{{quoted}}} messageList={{null}} "
    return refuse(f"VXResponse={{{response}}}", 404)
