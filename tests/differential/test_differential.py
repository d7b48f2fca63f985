"""This project's engine answers as Ranger's Java engine does; without Java, as the reference engine does.

39,000 requests are compared, the same every time, each set of them about one phenomenon; all of them at once are
searched by `make fuzz`.
"""

from __future__ import annotations

import pytest

from tests.differential.comparing import compare
from tests.differential.java_engine import JavaEngine
from tests.differential.our_engine import decide
from tests.differential.phenomena import PHENOMENA
from tests.differential.strategies import core_scenarios
from tests.differential.test_reference_engine import KNOWN, reference

AT_LEAST = {"core": 9_000}
OTHERS = 3_000


@pytest.mark.java
@pytest.mark.parametrize("phenomenon", PHENOMENA)
def test_our_engine_answers_as_java_does(java: JavaEngine, phenomenon: str) -> None:
    compare(PHENOMENA[phenomenon](), decide, java.decide, AT_LEAST.get(phenomenon, OTHERS))


@pytest.mark.slow
def test_our_engine_answers_as_the_reference_engine_does() -> None:
    compare(core_scenarios(), decide, reference, at_least=6_000, known=KNOWN)
