"""Make a scenario in which two engines differ as small as it gets, by leaving out one part of it after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

Json = dict[str, Any]
Steps = tuple[Any, ...]

KEPT = (
    *("id", "name", "type", "resource", "resources", "resourceElements", "values", "accessType", "accessTime"),
    *(
        "serviceName",
        "policies",
        "policyDeltas",
        "changeType",
        "serviceType",
        "policyType",
        "policyVersion",
        "tagPolicies",
    ),
)
"""What is not dropped as a whole: without it the scenario would be about something else."""


def minimise(scenario: Json, still_differs: Callable[[Json], bool]) -> Json:
    """Drop members and elements, largest first, until nothing more can be dropped on its own."""
    smallest, again = scenario, True
    while again:
        again = False
        for depth in range(1, deepest(smallest) + 1):
            # From the last to the first: dropping an element moves only those behind it.
            for steps in reversed([steps for steps in places(smallest) if len(steps) == depth]):
                smaller = without(smallest, steps)
                if smaller is not None and still_differs(smaller):
                    smallest, again = smaller, True
    return smallest


def deepest(value: Any) -> int:
    return max(map(len, places(value)), default=0)


def places(value: Any, steps: Steps = ()) -> Iterator[Steps]:
    members = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for key, member in members:
        if key not in KEPT:
            yield (*steps, key)
        yield from places(member, (*steps, key))


def without(scenario: Json, steps: Steps) -> Json | None:
    copy = deepcopy(scenario)
    parent: Any = copy
    for step in steps[:-1]:
        parent = parent[step]
    del parent[steps[-1]]
    return copy if copy.get("requests") else None
