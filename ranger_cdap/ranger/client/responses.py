"""Translation of Ranger Admin's error responses into one typed error of `ranger_cdap.errors`.

Pure. Ranger has five error formats and uses HTTP 400 for most of them, so the status alone is not enough.
Messages contain neither HTML nor secrets. Source: ranger-rest.md §2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

import msgspec

from ranger_cdap.config import Secret
from ranger_cdap.errors import (
    AccessForbidden,
    AdminFailed,
    AdminUnreachable,
    AuthenticationFailed,
    ConflictingChange,
    NotFound,
    RangerAdminError,
    RequestRejected,
    ServiceDisabled,
    ServiceNotFound,
    UnexpectedAnswer,
)
from ranger_cdap.ranger_model.json_text import decode_or_none

_SESSION_TIMED_OUT: Final = 419
_AWAY: Final = frozenset(
    {
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
# Messages of conflicting changes, by PostgreSQL, EclipseLink, Ranger itself, PostgreSQL again, MySQL and Oracle.
_CONFLICTS: Final = (
    "duplicate key value violates unique constraint",
    "OptimisticLockException",
    "policy already exists: ServiceName=",
    "could not serialize access",
    "Deadlock found when trying to get lock",
    "Duplicate entry",
    "ORA-00001",
)
_SERVICE_NOT_FOUND: Final = re.compile(r"RANGER_ERROR_SERVICE_NOT_FOUND(?:: ServiceName=([^\"\s}]+))?")
_REASON_CODE: Final = re.compile(r"error code\[([0-9.,\s]+)\]")
_LONGEST_MESSAGE: Final = 500


class AdminResponse(msgspec.Struct, frozen=True):
    """A response with its request: method, path without the query, status and body."""

    method: str
    path: str
    status: int
    body: bytes


def to_error(
    response: AdminResponse, secrets: Iterable[Secret] = (), rejection: str = "Ranger Admin rejected the account"
) -> RangerAdminError:
    """Return the error for a response; `secrets` are masked in Ranger's message, `rejection` is that of a login."""
    parsed = decode_or_none(response.body)
    message = _mask(_ranger_message(parsed), secrets)
    where: dict[str, Any] = {
        "method": response.method,
        "path": response.path,
        "status": response.status,
        "ranger_message": message,
    }
    status = response.status
    if status in (HTTPStatus.UNAUTHORIZED, _SESSION_TIMED_OUT):
        return AuthenticationFailed(rejection, **where)
    if status == HTTPStatus.FORBIDDEN:
        reason = f"Ranger Admin reports `{message}`" if message else "the account lacks the right in Ranger Admin"
        return AccessForbidden(f"{_call(response)} is forbidden: {reason}", **where)
    if status == HTTPStatus.NOT_FOUND:
        return _not_found(response, parsed, message, where)
    if status == HTTPStatus.BAD_REQUEST and parsed is not None:
        return _bad_request(response, parsed, message, where)
    if status in _AWAY:
        return AdminUnreachable(f"Ranger Admin is unavailable: {_call(response)} returned HTTP {status}", **where)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        reason = f", `{message}`" if message else "; see its log"
        return AdminFailed(f"Ranger Admin failed: {_call(response)} returned HTTP {status}{reason}", **where)
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return UnexpectedAnswer(
            f"{_call(response)} was redirected (HTTP {status}); redirects are not followed because they would leak the "
            "password; set `ranger.url` to the final address",
            **where,
        )
    reason = f", `{message}`" if message else ""
    return UnexpectedAnswer(
        f"{_call(response)} returned HTTP {status}{reason}, which is not a response of Ranger Admin; "
        "check that `ranger.url` is the address of Ranger Admin",
        **where,
    )


def _not_found(response: AdminResponse, parsed: Any, message: str, where: dict[str, Any]) -> RangerAdminError:
    if (found := _SERVICE_NOT_FOUND.search(message)) is not None:
        name = f" `{found[1]}`" if found[1] else ""
        return ServiceNotFound(f"Ranger Admin has no service{name}; check `ranger.service`", **where)
    # Ranger's own 404 is JSON; another one comes from a proxy, or the path is not Ranger's.
    if isinstance(parsed, dict) and "msgDesc" in parsed:
        return NotFound(f"Ranger Admin does not have the object of {_call(response)}", **where)
    return UnexpectedAnswer(
        f"{_call(response)} returned HTTP 404, and not from Ranger Admin; check `ranger.url`",
        **where,
    )


def _bad_request(response: AdminResponse, parsed: Any, message: str, where: dict[str, Any]) -> RangerAdminError:
    names = _message_names(parsed)
    if "DATA_NOT_FOUND" in names:
        return NotFound(f"Ranger Admin does not have the object of {_call(response)}", **where)
    if "OPER_NOT_ALLOWED_FOR_STATE" in names or "OPER_NOT_ALLOWED_FOR_STATE" in message:
        return ServiceDisabled("the service is disabled in Ranger Admin; enable it there", **where)
    if any(text in message for text in _CONFLICTS):
        return ConflictingChange(f"{_call(response)} conflicted with a concurrent modification; try again", **where)
    reason = f"`{message}`" if message else "no reason given"
    codes = _reason_codes(message)
    return RequestRejected(f"Ranger Admin rejected {_call(response)}: {reason}", reason_codes=codes, **where)


def _reason_codes(message: str) -> tuple[int, ...]:
    """Return the numbers of `error code[3,010]`, which Ranger formats in the server's locale."""
    digits = (re.sub(r"\D", "", code) for code in _REASON_CODE.findall(message))
    return tuple(int(code) for code in digits if code)


def _ranger_message(parsed: Any) -> str:
    """Return Ranger's message on one line: `msgDesc`, or the message of a `RemoteException`."""
    if not isinstance(parsed, dict):
        return ""
    remote = parsed.get("RemoteException")
    message = remote.get("message") if isinstance(remote, dict) else parsed.get("msgDesc")
    if not isinstance(message, str):
        return ""
    printable = "".join(c if c.isprintable() else " " for c in message)
    line = " ".join(printable.replace("`", "'").split())
    return line if len(line) <= _LONGEST_MESSAGE else line[:_LONGEST_MESSAGE] + "…"


def _message_names(parsed: Any) -> frozenset[str]:
    messages = parsed.get("messageList") if isinstance(parsed, dict) else None
    entries = messages if isinstance(messages, list) else []
    return frozenset(e["name"] for e in entries if isinstance(e, dict) and isinstance(e.get("name"), str))


def _mask(text: str, secrets: Iterable[Secret]) -> str:
    for secret in secrets:
        if not secret.problem and secret.reveal():
            text = text.replace(secret.reveal(), "*****")
    return text


def _call(response: AdminResponse) -> str:
    return f"`{response.method} {response.path}`"
