"""`HandlerCall`: one request as a handler sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ranger_cdap.service.http.callers import Caller

if TYPE_CHECKING:
    from ranger_cdap.service.state.app_state import AppState

NO_CALLER = Caller("", frozenset())


@dataclass(frozen=True, slots=True)
class HandlerCall:
    """Admitted request: its caller (`NO_CALLER` for public routes), the decoded body, and the state.

    `base_url` is this service's address as the caller wrote it. `alone`: it needs the owner, which does not answer.
    """

    state: AppState
    caller: Caller
    body: Any
    query: Mapping[str, str]
    request_id: str
    base_url: str = ""
    alone: bool = False
