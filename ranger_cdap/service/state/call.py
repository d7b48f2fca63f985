"""`HandlerCall`: one request as a handler sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from ranger_cdap.service.http.callers import Caller

if TYPE_CHECKING:
    from ranger_cdap.service.state.app_state import AppState

NO_CALLER = Caller("", frozenset())


@dataclass(frozen=True, slots=True)
class HandlerCall:
    """Admitted request: its caller (`NO_CALLER` for public routes), the decoded body, and the state.

    `alone`: it needs the owner, which does not answer.
    """

    state: AppState
    caller: Caller
    body: Any
    request: Request
    request_id: str
    alone: bool = False

    @property
    def query(self) -> Mapping[str, str]:
        """Return the parameters of the query by name, of a repeated one the last."""
        return dict(self.request.query_params)

    @property
    def base_url(self) -> str:
        """Return this service's address as the caller wrote it."""
        url = self.request.url
        return f"{url.scheme}://{url.netloc}"
