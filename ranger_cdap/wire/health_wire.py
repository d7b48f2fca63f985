"""The bodies of `/health`, in the format of Ranger's Policy Decision Point."""

from __future__ import annotations

import msgspec


class Live(msgspec.Struct):
    """`/health/live`, in the format of Ranger's Policy Decision Point."""

    status: str
    service: str
    live: bool


class Ready(msgspec.Struct, rename="camel"):
    """`/health/ready`, in the format of Ranger's Policy Decision Point."""

    status: str
    service: str
    ready: bool
    authorizer_initialized: bool
    accepting_requests: bool
    loaded_services_count: int
