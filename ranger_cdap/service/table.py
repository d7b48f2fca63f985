"""All rows of the decision service's interface."""

from __future__ import annotations

from typing import Final

from ranger_cdap.service import cdap_api, events_api, grant_api, health, openapi, page
from ranger_cdap.service.callers import Role
from ranger_cdap.service.cdap_wire import EnforceReply, EnforceRequest, HelloReply, VisibleReply, VisibleRequest
from ranger_cdap.service.event_wire import AuditReply, AuditRequest
from ranger_cdap.service.grant_wire import GrantReply, GrantRequest, GrantsReply, GrantsRequest
from ranger_cdap.service.health import Live, Ready
from ranger_cdap.service.hello import Hello
from ranger_cdap.service.metrics import CONTENT_TYPE
from ranger_cdap.service.routes import Row

_EVERYBODY: Final = frozenset[Role]()
_ENFORCE: Final = frozenset({Role.ENFORCE})
_DELEGATE: Final = frozenset({Role.DELEGATE})
_AUDIT: Final = frozenset({Role.AUDIT})
_GRANT: Final = frozenset({Role.GRANT})

CDAP: Final = (
    Row("POST", "/cdap/v1/enforce", _ENFORCE, cdap_api.enforce, "May somebody do this?", EnforceRequest, EnforceReply),
    Row(
        "POST", "/cdap/v1/visible", _ENFORCE, cdap_api.visible, "Which of these does somebody see?",
        VisibleRequest, VisibleReply, waits=True,
    ),
    Row("POST", "/cdap/v1/hello", _ENFORCE, cdap_api.hello, "Who is this service?", Hello, HelloReply),
)  # fmt: skip

EVENTS: Final = (
    Row(
        "POST", "/cdap/v1/audit", _AUDIT, events_api.audit, "Keep what CDAP answered for the sync job",
        AuditRequest, AuditReply, waits=True,
    ),
)  # fmt: skip

GRANTS: Final = (
    Row(
        "POST", "/cdap/v1/grant", _GRANT, grant_api.grant, "Somebody in CDAP gives permissions",
        GrantRequest, GrantReply, waits=True,
    ),
    Row(
        "POST", "/cdap/v1/revoke", _GRANT, grant_api.revoke, "Somebody in CDAP takes permissions away",
        GrantRequest, GrantReply, waits=True,
    ),
    Row(
        "POST", "/cdap/v1/grants", _GRANT, grant_api.grants, "What was somebody given?",
        GrantsRequest, GrantsReply, waits=True,
    ),
)  # fmt: skip

HEALTH: Final = (
    Row("GET", "/health/live", _EVERYBODY, health.live, "Does it live?", gives=Live),
    Row("GET", "/health/ready", _EVERYBODY, health.ready, "May it decide?", gives=Ready, also={503: Ready}),
    Row("GET", "/metrics", _EVERYBODY, health.metrics, "Its figures", content_type=CONTENT_TYPE),
)

PAGE: Final = (
    Row(
        "GET", "/", _DELEGATE, page.show, "The page for a person: the policies, and may somebody do something, and why",
        waits=True, also={400: str}, query=page.QUERY, content_type=page.HTML, error=page.html_error,
    ),
    Row("GET", "/style.css", _DELEGATE, page.style, "How the page looks", content_type=page.CSS),
)  # fmt: skip

_ALL: Final = (*CDAP, *EVENTS, *GRANTS, *HEALTH, *PAGE)

ROWS: Final = (*_ALL, openapi.row(_ALL))
