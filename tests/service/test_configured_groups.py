"""The sources of groups in the settings count in the decision service, for both of its ways to decide."""

from __future__ import annotations

from pathlib import Path

from ranger_cdap.config.loader import parse_settings
from ranger_cdap.engine import AccessRequest
from ranger_cdap.service.composition import compose_service


def test_configured_groups_count_for_operations_and_requests(tmp_path: Path) -> None:
    tables = {
        "ranger": {"url": "http://127.0.0.1:1", "attempts": 1},
        "plugin": {"username": "plugin", "password": "x", "cache_dir": str(tmp_path / "cache")},
        "audit": {"sinks": []},
        "service": {"events_dir": str(tmp_path / "events")},
        "groups": {"static": {"etl": ["batch"]}},
    }
    state, _ = compose_service(parse_settings(tables, origin="the test"), refresh_in_background=False)
    try:
        hook = state.authorizer.decider.group_hook
        assert hook is not None
        assert hook(user="etl") == [frozenset({"batch"})]
        (service,) = state.services.values()
        asked = AccessRequest(resource={}, access_type="read", user="etl")
        assert service.completed(asked).groups == {"batch"}
        assert state.authorizer.decider.has_decision_hooks  # so that no lookup blocks the event loop
    finally:
        state.authorizer.close()
