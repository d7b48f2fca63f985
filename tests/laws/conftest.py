"""The laws before each judge in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.laws.judges import OURS, Judge, java_judge
from tests.laws.law import Law


def judges(knows: Callable[[Judge], bool] = lambda _: True) -> list[Any]:
    """Return the names of the judges that know enough; Java knows everything."""
    return [*(name for name, judge in OURS.items() if knows(judge)), pytest.param("Java", marks=pytest.mark.java)]


def law_before(request: pytest.FixtureRequest) -> Law:
    """Return a law before the judge of this test."""
    return Law(java_judge(request.getfixturevalue("java")) if request.param == "Java" else OURS[request.param])


@pytest.fixture(params=judges())
def law(request: pytest.FixtureRequest) -> Law:
    """A law about policies on resources."""
    return law_before(request)


@pytest.fixture(params=judges(lambda judge: judge.tags))
def law_of_tags(request: pytest.FixtureRequest) -> Law:
    """A law about policies on tags."""
    return law_before(request)


@pytest.fixture(params=judges(lambda judge: judge.any_access))
def law_of_any_access(request: pytest.FixtureRequest) -> Law:
    """A law about `_any`."""
    return law_before(request)


@pytest.fixture(params=judges(lambda judge: judge.several_access_types))
def law_of_several_access_types(request: pytest.FixtureRequest) -> Law:
    """A law about several access types at once."""
    return law_before(request)
