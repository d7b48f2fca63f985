"""`RequestSpans`: one span per request, recorded when it is answered.

Laws: no span has the name of a user, an entity or a caller; a `traceparent` counts only of an authenticated caller, and
the requests of others cannot crowd out theirs: they make one span per minute for a route and status.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from starlette.types import Scope

from ranger_cdap.service.http.json_log import REFUSED, OncePerMinute
from ranger_cdap.telemetry import TRACEPARENT, ids_of_check

if TYPE_CHECKING:
    from ranger_cdap.telemetry.sdk import Telemetry

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})


@dataclass(eq=False, slots=True)
class RequestSpans:
    """Recorder of the spans of a service's requests."""

    telemetry: Telemetry
    _limit: OncePerMinute = field(default_factory=OncePerMinute)

    def record(self, scope: Scope, status: int, seconds: float) -> str:
        """Record the span of an answered request, with what its handler has noted in the state of the scope.

        Return the id of its trace, empty without a span.
        """
        state = scope["state"]
        route, caller = state.get("route", ""), state.get("caller", "")
        if (not caller or status in REFUSED) and self._limit.left_out((route, status)) is None:
            return ""
        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        named = {"http.route": route, "ranger_cdap.result": state.get("result", "")}
        parents = [value.decode("latin-1") for name, value in scope["headers"] if name == TRACEPARENT.encode()]
        return self.telemetry.record(
            f"{method} {route}".strip(),
            time.time_ns() - round(seconds * 1e9),
            {"http.request.method": method, "http.response.status_code": status}
            | {name: text for name, text in named.items() if text},
            failed=status >= 500,
            ids=ids_of_check(state.get("check", "")),
            traceparent=parents[0] if caller and len(parents) == 1 else "",
        )
