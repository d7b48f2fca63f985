"""Liveness, readiness and metrics; public, so without the name of any user."""

from __future__ import annotations

from ranger_cdap.service.http.metrics import CONTENT_TYPE
from ranger_cdap.service.http.reply import Reply, json_reply
from ranger_cdap.service.state.call import HandlerCall
from ranger_cdap.wire.health_wire import Live, Ready

NAME = "ranger-pdp"


def live(_call: HandlerCall) -> Reply:
    """Report that the process answers."""
    return json_reply(Live("UP", NAME, True))


def ready(call: HandlerCall) -> Reply:
    """Report readiness: the policies of every service are usable; 503 if those of one are not."""
    loaded = sum(service.snapshot.state.decides for service in call.state.services.values())
    is_ready = loaded == len(call.state.services)
    status = "READY" if is_ready else "NOT_READY"
    return json_reply(Ready(status, NAME, is_ready, loaded > 0, True, loaded), 200 if is_ready else 503)


def metrics(call: HandlerCall) -> Reply:
    """Return all metrics in Prometheus's text format."""
    return Reply(200, call.state.metrics.text(), CONTENT_TYPE)
