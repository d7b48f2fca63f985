"""Whether the service lives and is ready, and its figures; for everybody, so without a name of anybody."""

from __future__ import annotations

import msgspec

from ranger_cdap.service.http.metrics import CONTENT_TYPE
from ranger_cdap.service.http.reply import Reply, json_reply
from ranger_cdap.service.state.call import Call

NAME = "ranger-pdp"


class Live(msgspec.Struct):
    """`/health/live`, as Ranger's Policy Decision Point has it."""

    status: str
    service: str
    live: bool


class Ready(msgspec.Struct, rename="camel"):
    """`/health/ready`, as Ranger's Policy Decision Point has it."""

    status: str
    service: str
    ready: bool
    authorizer_initialized: bool
    accepting_requests: bool
    loaded_services_count: int


def live(_call: Call) -> Reply:
    """The process answers."""
    return json_reply(Live("UP", NAME, True))


def ready(call: Call) -> Reply:
    """The policies of every service may decide; 503 if those of one may not."""
    loaded = sum(service.snapshot.state.decides for service in call.state.services.values())
    is_ready = loaded == len(call.state.services)
    status = "READY" if is_ready else "NOT_READY"
    return json_reply(Ready(status, NAME, is_ready, loaded > 0, True, loaded), 200 if is_ready else 503)


def metrics(call: Call) -> Reply:
    """All figures, in Prometheus's text form."""
    return Reply(200, call.state.metrics.text(), CONTENT_TYPE)
