"""What is allowed without knowing somebody's groups is allowed whatever his groups are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.engine import EngineOptions
from ranger_cdap.ranger_model.document import replaced
from tests.differential.our_engine import load, read_request
from tests.differential.phenomena_zones import zone_scenarios
from tests.differential.strategies import GROUPS, core_scenarios


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.one_of(core_scenarios(), zone_scenarios()), st.sets(st.sampled_from(GROUPS)))
def test_not_knowing_groups_allows_nothing(scenario: Mapping[str, Any], truth: set[str]) -> None:
    engine = load(scenario, EngineOptions())
    for json in scenario["requests"]:
        request = replaced(read_request(json), roles=None)
        known = replaced(request, groups=request.groups | truth)
        if engine.evaluate(replaced(request, groups_known=False)).allowed:
            assert engine.evaluate(known).allowed
