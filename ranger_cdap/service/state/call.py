"""`HandlerCall`: one request as a handler sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.requests import Request
from starlette.types import Scope

from ranger_cdap.service.http.callers import Caller

if TYPE_CHECKING:
    from ranger_cdap.service.state.app_state import AppState


class HandlerCall(msgspec.Struct, frozen=True):
    """Admitted request: its caller (`NO_CALLER` for public routes), the decoded body, and the state."""

    state: AppState
    caller: Caller
    body: Any
    scope: Scope

    def checks(self, stamp: str) -> None:
        """Note the id of the stamp of a check, for the span of the request."""
        self.scope["state"]["check"] = stamp

    def decided(self, interface: str, allowed: bool) -> None:
        """Count a decision in the metrics, and note it for the span of the request."""
        self.state.metrics.decided(interface, allowed)
        result, noted = "allowed" if allowed else "denied", self.scope["state"]
        noted["result"] = result if noted.get("result", result) == result else "mixed"

    @property
    def query(self) -> Mapping[str, str]:
        """Return the parameters of the query by name, of a repeated one the last."""
        return dict(Request(self.scope).query_params)

    @property
    def base_url(self) -> str:
        """Return this service's address as the caller wrote it."""
        url = Request(self.scope).url
        return f"{url.scheme}://{url.netloc}"
