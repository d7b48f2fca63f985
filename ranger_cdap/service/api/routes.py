"""The interface as a table: method, path, who may ask, what is sent and answered, which function answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ranger_cdap.service.http.callers import Role
from ranger_cdap.service.http.reply import JSON, Refused, Reply, coded_error
from ranger_cdap.service.state.call import Call

Handler = Callable[[Call], Reply]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table.

    `roles`: any one of them lets a caller in; none at all: no authentication. `takes` and `gives` are the
    structs of the bodies, `also` those that come with another status than 200; `query` says what the parameters are.
    `waits`: the handler may wait for a disk or a network, or what says so of a request; `works`: it computes for long.
    Neither is done in the thread of the event loop, and of what works only little at a time for one caller. `longest`:
    bytes of a body, where the setting is more.
    """

    method: str
    path: str
    roles: frozenset[Role]
    handler: Handler
    summary: str
    takes: type | None = None
    gives: Any = None
    waits: bool | Callable[[Call], bool] = False
    works: bool | Callable[[Call], bool] = False
    longest: int = 0
    also: Mapping[int, Any] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    content_type: str = JSON
    error: Callable[[Refused], Reply] = coded_error
    challenge: str = 'Basic realm="ranger-cdap", charset="UTF-8"'
