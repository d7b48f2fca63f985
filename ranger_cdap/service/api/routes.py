"""The route table: method, path, roles, bodies and handler of each endpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.service.http.reply import JSON, Refused, Reply, coded_error
from ranger_cdap.service.state.call import HandlerCall

Handler = Callable[[HandlerCall], Reply]


@dataclass(frozen=True, slots=True)
class ApiRoute:
    """Route of the interface.

    `roles`: any one of them admits a caller; without any, no authentication. `takes` and `gives` are the structs of the
    bodies, `also` those of statuses other than 200; `query` describes the parameters. `waits`: the handler may wait for
    a disk or a network, or a predicate on the request; `works`: it computes for long. Neither runs in the event loop's
    thread, and computing has few threads per caller. `longest`: largest body in bytes, if the setting is larger.
    """

    method: str
    path: str
    roles: frozenset[CallerRole]
    handler: Handler
    summary: str
    takes: type | None = None
    gives: Any = None
    waits: bool | Callable[[HandlerCall], bool] = False
    works: bool | Callable[[HandlerCall], bool] = False
    longest: int = 0
    also: Mapping[int, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    content_type: str = JSON
    error: Callable[[Refused], Reply] = coded_error
