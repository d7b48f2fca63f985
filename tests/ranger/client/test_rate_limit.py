"""The rate limit of requests to Ranger Admin."""

from __future__ import annotations

from ranger_cdap.ranger.client.rate_limit import RateLimiter


def test_requests_are_spaced_by_the_rate() -> None:
    clock = [100.0]
    slept: list[float] = []
    limiter = RateLimiter(4, clock=lambda: clock[0], sleep=slept.append)
    for _ in range(3):
        limiter.wait()
    clock[0] += 10
    limiter.wait()
    assert slept == [0.0, 0.25, 0.5, 0.0]
