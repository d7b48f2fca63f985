"""Make a scenario in which the engines differ as small as it gets: `python minimise.py < found.json > small.json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any

Json = dict[str, Any]
Steps = tuple[Any, ...]

KEPT = ("id", "name")
"""What tells policies apart: without it Java drops one of them, and no one knows which."""


def minimise(scenario: Json, still_differs: Callable[[Json], bool]) -> Json:
    """Drop members and elements, largest first, as long as the difference remains."""
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
    import our_engine
    from comparing import FIELDS, difference
    from java_engine import HarnessError, JavaEngine

    from ranger_cdap.errors import RangerCdapError

    with JavaEngine() as java:

        def found(scenario: Json) -> Mapping[str, Any] | None:
            try:
                differ = difference(scenario, our_engine.decide(scenario), java.decide(scenario), FIELDS)
                return differ[0] if differ else None
            except (HarnessError, RangerCdapError, KeyError, TypeError, ValueError):
                return None  # no longer a scenario

        scenario = {key: value for key, value in json.load(sys.stdin).items() if key not in ("ours", "theirs")}
        smallest = minimise(scenario, lambda smaller: found(smaller) is not None)
        json.dump(found(smallest), sys.stdout, indent=1, ensure_ascii=False)


if __name__ == "__main__":
    main()
