"""`Call`: one request as a handler sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ranger_cdap.service.http.callers import Caller

if TYPE_CHECKING:
    from ranger_cdap.service.state.app_state import AppState

NOBODY = Caller("", frozenset())


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was let in: who asks (`NOBODY` where everybody may), the decoded body, and what answers.

    `base_url` is this service's address as the caller wrote it.
    """

    state: AppState
    caller: Caller
    body: Any
    query: Mapping[str, str]
    request_id: str
    base_url: str = ""
