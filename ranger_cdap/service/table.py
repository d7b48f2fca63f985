"""All rows of the decision service's interface."""

from __future__ import annotations

from typing import Final

from ranger_cdap.service import cdap_api, health
from ranger_cdap.service.callers import Role
from ranger_cdap.service.cdap_wire import EnforceReply, EnforceRequest, HelloReply, VisibleReply, VisibleRequest
from ranger_cdap.service.health import Live, Ready
from ranger_cdap.service.hello import Hello
from ranger_cdap.service.routes import Row

_EVERYBODY: Final = frozenset[Role]()
_ENFORCE: Final = frozenset({Role.ENFORCE})

CDAP: Final = (
    Row("POST", "/cdap/v1/enforce", _ENFORCE, cdap_api.enforce, "May somebody do this?", EnforceRequest, EnforceReply),
    Row(
        "POST", "/cdap/v1/visible", _ENFORCE, cdap_api.visible, "Which of these does somebody see?",
        VisibleRequest, VisibleReply, waits=True,
    ),
    Row("POST", "/cdap/v1/hello", _ENFORCE, cdap_api.hello, "Who is this service?", Hello, HelloReply),
)  # fmt: skip

HEALTH: Final = (
    Row("GET", "/health/live", _EVERYBODY, health.live, "Does it live?", gives=Live),
    Row("GET", "/health/ready", _EVERYBODY, health.ready, "May it decide?", gives=Ready),
    Row("GET", "/metrics", _EVERYBODY, health.metrics, "Its figures"),
)

ROWS: Final = (*CDAP, *HEALTH)
