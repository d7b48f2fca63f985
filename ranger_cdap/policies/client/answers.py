"""Translation of Ranger Admin's error responses into one typed error of `ranger_cdap.errors`.

Pure. Ranger has five shapes of errors and uses HTTP 400 for most of them, so the status alone is not enough.
Nothing of an HTML page and no secret gets into a message. Source: ranger-rest.md §2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
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
# What is said when two changes meet, by PostgreSQL, EclipseLink, Ranger itself, PostgreSQL again, MySQL and Oracle.
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


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: of which request (path without the query), its status and its body."""

    method: str
    path: str
    status: int
    body: bytes


def json_of(body: bytes) -> Any:
    """The JSON value of a body, or None when it is not JSON (an empty body, HTML, cut short)."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def error_of(answer: Answer, secrets: Iterable[Secret] = ()) -> RangerAdminError:
    """The error an answer stands for; texts of `secrets` are masked in what Ranger says."""
    parsed = json_of(answer.body)
    said = _mask(_ranger_message(parsed), secrets)
    where: dict[str, Any] = {
        "method": answer.method,
        "path": answer.path,
        "status": answer.status,
        "ranger_message": said,
    }
    status = answer.status
    if status in (HTTPStatus.UNAUTHORIZED, _SESSION_TIMED_OUT):
        return AuthenticationFailed(
            "Ranger Admin does not accept the user name and password (or the token); check them before the next try, "
            "because five failures within 300 s lock the account",
            **where,
        )
    if status == HTTPStatus.FORBIDDEN:
        reason = f"Ranger Admin says `{said}`" if said else "the account has no right to this in Ranger Admin"
        return AccessForbidden(f"{_call(answer)} is forbidden: {reason}", **where)
    if status == HTTPStatus.NOT_FOUND:
        return _not_found(answer, parsed, said, where)
    if status == HTTPStatus.BAD_REQUEST and parsed is not None:
        return _bad_request(answer, parsed, said, where)
    if status in _AWAY:
        return AdminUnreachable(f"Ranger Admin is unavailable: {_call(answer)} returned HTTP {status}", **where)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        reason = f", `{said}`" if said else "; its own log says why"
        return AdminFailed(f"Ranger Admin failed: {_call(answer)} was answered with status {status}{reason}", **where)
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        return UnexpectedAnswer(
            f"{_call(answer)} was redirected (status {status}), which is not followed because the password would "
            "travel along; set `ranger.url` to the final address",
            **where,
        )
    reason = f", `{said}`" if said else ""
    return UnexpectedAnswer(
        f"{_call(answer)} was answered with status {status}{reason}, which Ranger Admin does not do; "
        "check that `ranger.url` is the address of Ranger Admin",
        **where,
    )


def _not_found(answer: Answer, parsed: Any, said: str, where: dict[str, Any]) -> RangerAdminError:
    if (found := _SERVICE_NOT_FOUND.search(said)) is not None:
        name = f" `{found[1]}`" if found[1] else ""
        return ServiceNotFound(f"Ranger Admin has no service{name}; check `ranger.service`", **where)
    # Ranger says in JSON that a thing is not there; another 404 comes from a proxy, or the path is not Ranger's.
    if isinstance(parsed, dict) and "msgDesc" in parsed:
        return NotFound(f"Ranger Admin does not have what {_call(answer)} asks for", **where)
    return UnexpectedAnswer(
        f"{_call(answer)} was answered with status 404 by something that is not Ranger Admin; check `ranger.url`",
        **where,
    )


def _bad_request(answer: Answer, parsed: Any, said: str, where: dict[str, Any]) -> RangerAdminError:
    names = _message_names(parsed)
    if "DATA_NOT_FOUND" in names:
        return NotFound(f"Ranger Admin does not have what {_call(answer)} asks for", **where)
    if "OPER_NOT_ALLOWED_FOR_STATE" in names or "OPER_NOT_ALLOWED_FOR_STATE" in said:
        return ServiceDisabled("the service is disabled in Ranger Admin; enable it there", **where)
    if any(text in said for text in _CONFLICTS):
        return ConflictingChange(
            f"{_call(answer)} met another change of the same thing in the same moment; try again", **where
        )
    reason = f"`{said}`" if said else "it gives no reason"
    return RequestRejected(f"Ranger Admin refuses {_call(answer)}: {reason}", reason_codes=_reason_codes(said), **where)


def _reason_codes(said: str) -> tuple[int, ...]:
    """The numbers of `error code[3,010]`, which Ranger writes in the server's locale."""
    digits = (re.sub(r"\D", "", code) for code in _REASON_CODE.findall(said))
    return tuple(int(code) for code in digits if code)


def _ranger_message(parsed: Any) -> str:
    """Ranger's message, in one line: `msgDesc`, or the message of a `RemoteException`."""
    if not isinstance(parsed, dict):
        return ""
    remote = parsed.get("RemoteException")
    said = remote.get("message") if isinstance(remote, dict) else parsed.get("msgDesc")
    if not isinstance(said, str):
        return ""
    printable = "".join(c if c.isprintable() else " " for c in said)
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


def _call(answer: Answer) -> str:
    return f"`{answer.method} {answer.path}`"
