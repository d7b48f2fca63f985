"""`RequestSpans`: one span per request, made when it is answered, from what its log line and the metrics have.

Laws: no span has the name of a user, an entity or a caller; a `traceparent` counts only of an authenticated caller, and
the requests of others cannot crowd out theirs: they make one span per minute for a route and status.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starlette.types import Scope

from ranger_cdap.service.http.json_log import REFUSED, OncePerMinute
from ranger_cdap.telemetry.propagation import TRACEPARENT
from ranger_cdap.telemetry.trace_ids import ids_of_check

if TYPE_CHECKING:
    from ranger_cdap.telemetry.sdk import Attributes, Telemetry

logger = logging.getLogger(__name__)

NOTES: Final = "notes"
"""Key of the notes in the state of a request's scope."""
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_OTHER: Final = "_OTHER"
"""Every method that HTTP does not name, in the conventions of OpenTelemetry."""


@dataclass(slots=True)
class RequestNotes:
    """Notes of a handler for the span: how many decisions allowed and denied, by which version of the policies.

    `check`: the id of the stamp of a check of CDAP.
    """

    allowed: int = 0
    denied: int = 0
    policy_version: int | None = None
    check: str = ""

    def decided(self, allowed: bool) -> None:
        """Count a decision."""
        if allowed:
            self.allowed += 1
        else:
            self.denied += 1

    def attributes(self) -> Attributes:
        """Return the notes as attributes of a span; the check is in its ids."""
        found: dict[str, str | int] = {}
        if number := self.allowed + self.denied:
            found["ranger_cdap.decisions"] = number
            found["ranger_cdap.result"] = "allowed" if not self.denied else "mixed" if self.allowed else "denied"
        if self.policy_version is not None:
            found["ranger_cdap.policy_version"] = self.policy_version
        return found


class RequestSpans:
    """Recorder of the spans of a service's requests."""

    def __init__(self, telemetry: Telemetry, clock: Callable[[], float] = time.monotonic) -> None:
        self._telemetry = telemetry
        self._limit = OncePerMinute(clock)

    def record(self, scope: Scope, status: int, seconds: float) -> str:
        """Record the span of a request that was just answered; return the id of its trace, empty without a span."""
        try:
            return self._record(scope, status, seconds)
        except Exception as e:  # the request is answered, and its connection goes on
            logger.warning("a request has no span: %s", type(e).__name__)
            return ""

    def _record(self, scope: Scope, status: int, seconds: float) -> str:
        state = scope["state"]
        route, caller = state.get("route", ""), state.get("caller", "")
        if (not caller or status in REFUSED) and self._limit.left_out((route, status)) is None:
            return ""
        notes: RequestNotes = state[NOTES]
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        attributes: dict[str, str | int] = {"http.request.method": method, "http.response.status_code": status}
        if route:
            attributes["http.route"] = route
        end = time.time_ns()
        return self._telemetry.served(
            f"{method} {route}" if route else method,
            end - round(seconds * 1e9),
            end,
            attributes | dict(notes.attributes()),
            failed=status >= 500,
            ids=ids_of_check(notes.check),
            traceparent=_traceparent(scope) if caller else "",
        )


def _traceparent(scope: Scope) -> str:
    given = [value for name, value in scope["headers"] if name == TRACEPARENT.encode()]
    return given[0].decode("latin-1") if len(given) == 1 else ""
