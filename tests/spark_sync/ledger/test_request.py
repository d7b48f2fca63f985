"""Which of two requests certainly came first, whatever is done to clocks and however late records arrive."""

from __future__ import annotations

from typing import Any

import pytest

from spark_sync.ledger.event import NEVER
from spark_sync.ledger.request import DEADLINE, Interval

MINUTE, SKEW = 60_000, 2_000


def request(at: int, *, took: int = 10, late: int = 4_000, clock: int = 0, process: str = "p", **of: Any) -> Interval:
    """A request checked at that true time, by a process whose clock is so far ahead of its one service's."""
    ended = at + took
    known = {"journalled": at, "stored": ended + late, "behind": -clock, "journal": "s", "store": "s"}
    return Interval(at + clock, NEVER if took == NEVER else ended + clock, process, **{**known, **of})


LATE = 10 * MINUTE
BACK, AHEAD, YEAR = -2 * MINUTE, 2 * MINUTE, 525_600 * MINUTE

# The first request, the second one, and which certainly came first: "first", "neither" or, wrongly, "second".
ORDERS: dict[str, tuple[Interval, Interval, str]] = {
    "recorded in between": (request(0), request(MINUTE), "first"),
    "recorded in between, of another process": (request(0), request(MINUTE, process="q"), "first"),
    "recorded late": (request(0, late=LATE), request(1_000), "first"),
    "recorded late, of another process": (request(0, late=LATE), request(1_000, process="q"), "neither"),
    "at the same time": (request(0, took=500), request(100), "neither"),
    "without an end": (request(0, took=NEVER, stored=NEVER), request(MINUTE), "neither"),
    "set back, recorded in between": (request(0), request(MINUTE, clock=BACK), "first"),
    "set ahead, recorded in between": (request(0), request(MINUTE, clock=AHEAD), "first"),
    "set back, recorded late": (request(0, late=LATE), request(MINUTE, clock=BACK), "neither"),
    "set ahead, recorded late": (request(0, late=LATE), request(MINUTE, clock=AHEAD), "neither"),
    "set back as little as an answer may take": (request(0, late=LATE), request(1_000, clock=-DEADLINE), "neither"),
    "always two minutes behind": (request(0, clock=BACK, late=LATE), request(1_000, clock=BACK), "first"),
    "set back, of another process": (request(0, late=LATE), request(MINUTE, clock=BACK, process="q"), "neither"),
    "two services, recorded in between": (request(0, store="t"), request(MINUTE, clock=BACK), "first"),
    "two services, recorded just before": (request(0, store="t"), request(5_000, clock=BACK), "neither"),
    "two services, set back, recorded late": (
        request(0, store="t", late=LATE),
        request(MINUTE, clock=BACK),
        "neither",
    ),
    "two services, of the second one's two clocks none is right": (
        request(0, store="t", late=40_000),
        request(10_000, clock=MINUTE, journalled=YEAR, behind=YEAR - MINUTE),
        "neither",
    ),
    "two journals, recorded late": (request(0, journal="t", store="t", late=LATE), request(1_000), "first"),
    "two journals, set back, recorded late": (
        request(0, journal="t", store="t", late=LATE),
        request(MINUTE, clock=BACK),
        "neither",
    ),
    "two journals, another process set back": (
        request(0, journal="t", store="t", clock=BACK),
        request(MINUTE, process="q", store="u", late=LATE),
        "first",
    ),
}


@pytest.mark.parametrize(("first", "second", "expected"), ORDERS.values(), ids=ORDERS)
def test_only_a_certain_order_counts(first: Interval, second: Interval, expected: str) -> None:
    found = (first.precedes(second, SKEW), second.precedes(first, SKEW))
    assert found == {"first": (True, False), "neither": (False, False)}[expected]
