"""Make a scenario in which the engines differ as small as it gets: `python minimise.py < found.json > small.json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

Json = dict[str, Any]
Steps = tuple[Any, ...]

KEPT = ("id", "name", "type", "resource", "resources", "resourceElements", "values", "accessType", "serviceName")
"""What is not dropped as a whole: without it the scenario would be about something else."""


def minimise(scenario: Json, still_differs: Callable[[Json], bool]) -> Json:
    """Drop members and elements, largest first, as long as both answer as before."""
    smallest, again = scenario, True
    while again:
        again = False
        for steps in sorted(places(smallest), key=len):
            smaller = without(smallest, steps)
            if smaller is not None and still_differs(smaller):
                smallest, again = smaller, True
                break
    return smallest


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


def main() -> None:
    from ranger_cdap.errors import RangerCdapError
    from tests.differential import our_engine
    from tests.differential.comparing import FIELDS
    from tests.differential.java_engine import HarnessError, JavaEngine

    with JavaEngine() as java:

        def answers(scenario: Json) -> tuple[Json, Json] | None:
            try:
                (ours,), (theirs,) = our_engine.decide(scenario), java.decide(scenario)
            except (HarnessError, RangerCdapError, KeyError, TypeError, ValueError):
                return None  # no longer a scenario
            return {name: ours.get(name) for name in FIELDS}, {name: theirs.get(name) for name in FIELDS}

        scenario = {key: value for key, value in json.load(sys.stdin).items() if key not in ("ours", "theirs")}
        found = answers(scenario)
        smallest = minimise(scenario, lambda smaller: answers(smaller) == found)
        told = found and {"ours": found[0], "theirs": found[1]}
        json.dump({**smallest, **(told or {})}, sys.stdout, indent=1, ensure_ascii=False)


if __name__ == "__main__":
    main()
