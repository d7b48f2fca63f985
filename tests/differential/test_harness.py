"""The harness itself: what it cannot do it says."""

from __future__ import annotations

import pytest

from tests.differential.java_engine import HarnessError, JavaEngine

pytestmark = pytest.mark.java


def test_a_command_that_fails_says_so(java: JavaEngine) -> None:
    with pytest.raises(HarnessError, match="no engine is loaded as nobody"):
        java.evaluate([], name="nobody")
    with pytest.raises(HarnessError):
        java.load({"policies": {"serviceDef": {"resources": 1}}}, name="broken")
