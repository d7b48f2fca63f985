"""`Endpoint`: one path and method, for authenticated callers within their shares; and the router to many."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from traceback import extract_tb
from typing import Final

from msgspec.structs import replace
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive, Scope, Send

from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.service.http.callers import NO_CALLER, Caller, CallerRole, Callers
from ranger_cdap.service.http.reply import Refused, Reply, coded_error
from ranger_cdap.service.http.request_guard import send_reply
from ranger_cdap.service.http.shares import Shares

_log = logging.getLogger(__name__)

CHALLENGE: Final = 'Basic realm="ranger-cdap", charset="UTF-8"'
# The rest of an unread body must not be taken for the next request.
_HEADERS: Final[Mapping[int, Mapping[str, str]]] = {
    408: {"connection": "close"},
    413: {"connection": "close"},
    429: {"retry-after": "1"},
    503: {"retry-after": "1"},
}
_TWICE: Final = "\0"


@dataclass(eq=False)
class Endpoint(ABC):
    """Admission to one path and method: authenticates the caller, checks the role, counts the share.

    Any one of `roles` admits a caller; without any, no authentication. `error` is the form of errors.
    """

    path: str
    roles: frozenset[CallerRole]
    callers: Callers
    shares: Shares
    error: Callable[[Refused], Reply] = field(default=coded_error, kw_only=True)

    @abstractmethod
    async def answer(self, request: Request, caller: Caller) -> Reply:
        """Return the reply to an admitted request.

        Raises:
            Refused: the request is rejected.
            InvalidInput: it is not usable (400).
            NotReady: there are no policies (503).
        """

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        scope["state"]["route"] = self.path
        try:
            peer = request.client.host if request.client else ""
            caller = self.callers.admit(sent_once(request.headers), peer) if self.roles else NO_CALLER
            who = caller.name if caller else ""
            scope["state"]["caller"] = who
            with self.shares.taking(who or peer):
                reply = await self.answer(request, self._allowed(caller))
        except ClientDisconnect:
            return
        except Exception as e:
            reply = self.failure(e)
        await send_reply(reply, send)

    def _allowed(self, caller: Caller | None) -> Caller:
        if caller is None:
            raise Refused(401, "Authentication required")
        if self.roles and self.roles.isdisjoint(caller.roles):
            raise Refused(403, f"{caller.name} is not authorized")
        return caller

    def failure(self, error: Exception) -> Reply:
        """Return the reply to a request whose answer failed with that error."""
        match error:
            case Refused():
                refused = error
            case InvalidInput():
                refused = Refused(400, str(error))
            case NotReady():
                refused = Refused(503, str(error))
            case _:
                log_failure(self.path, error)
                refused = Refused(500, "Internal Server Error")
        headers = {"www-authenticate": CHALLENGE} if refused.status == 401 else _HEADERS.get(refused.status, {})
        return replace(self.error(refused), headers=headers)


@dataclass(frozen=True)
class Router:
    """Endpoints by path and method; `error` is the form of errors elsewhere, `hint` says where the paths are listed."""

    paths: Mapping[str, Mapping[str, Endpoint]]
    error: Callable[[Refused], Reply] = coded_error
    hint: str = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        methods = self.paths.get(scope["path"], {})
        endpoint = methods.get("GET" if scope["method"] == "HEAD" else scope["method"])
        if endpoint is not None:
            await endpoint(scope, receive, send)
            return
        allowed = {"allow": ", ".join(sorted({*methods, *(["HEAD"] if "GET" in methods else [])}))} if methods else {}
        refused = self.error(Refused(405 if methods else 404, f"not found{self.hint}"))
        await send_reply(replace(refused, headers=allowed), send)


def sent_once(headers: Headers) -> Mapping[str, str]:
    """Return the headers; one sent twice is dropped, since a proxy may have added the second."""
    names = [name for name, _ in headers.raw]
    return (
        headers
        if len(set(names)) == len(names)
        else {name: headers[name] if len(headers.getlist(name)) == 1 else _TWICE for name in headers}
    )


def log_failure(what: str, error: Exception) -> None:
    """Log the place of a failure; the error's message may contain request data, or worse."""
    places = (f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(extract_tb(error.__traceback__)))
    _log.error("%s failed with %s at %s", what, type(error).__name__, " < ".join(places))
