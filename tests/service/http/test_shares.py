"""What one caller may take: requests a second and at once; CDAP's extension as many as it likes, unless it is set."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.config import CallerSettings, Secret, ServiceSettings
from ranger_cdap.service.http.limits import ServiceLimits
from ranger_cdap.service.http.reply import Refused
from ranger_cdap.service.http.shares import Shares
from tests.service.fixtures import READ_AND_WRITE, secret_of, serving

ASKS = {"user": {"name": "evaluate"}, "context": {"serviceName": "cdapdev"}}


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def asks(shares: Shares, who: str) -> bool:
    try:
        with shares.taking(who):
            return True
    except Refused:
        return False


@given(st.lists(st.floats(0, 3), max_size=60), st.integers(1, 7))
def test_in_no_time_more_than_its_rate_and_one_second_in_advance(pauses: list[float], rate: int) -> None:
    clock = Clock()
    shares = Shares(ServiceSettings(), ServiceLimits(rate=rate), clock)
    answered: list[float] = []
    for pause in pauses:
        clock.now += pause
        if asks(shares, "10.0.0.1"):
            answered.append(clock.now)
        else:
            window = [at for at in answered if at > clock.now - 1 / rate]
            assert window or len(answered) >= rate, "refused though it had its share"
    for n, at in enumerate(answered):
        for m in range(n, len(answered)):
            assert m - n + 1 <= rate + (answered[m] - at) * rate + 1e-6


def test_each_caller_has_its_own_share() -> None:
    shares = Shares(ServiceSettings(), ServiceLimits(rate=1), Clock())
    assert [asks(shares, who) for who in ("a", "a", "b", "b", "10.0.0.1")] == [True, False, True, False, True]


def caller(name: str, *roles: Any) -> CallerSettings:
    return CallerSettings(name=name, roles=roles, secret=Secret(secret_of(name)))


@pytest.mark.parametrize(
    ("one", "limited"),
    [
        (caller("x", "evaluate"), True),
        (caller("x", "enforce"), False),
        (caller("x", "enforce", "evaluate"), False),
    ],
)
def test_cdap_is_not_limited(one: CallerSettings, limited: bool) -> None:
    shares = Shares(ServiceSettings(callers=(one,)), ServiceLimits(rate=1), Clock())
    assert all(asks(shares, "x") for _ in range(50)) is not limited


def test_one_caller_has_half_of_what_is_answered_at_once() -> None:
    shares = Shares(ServiceSettings(callers=(caller("cdap", "enforce"),)), ServiceLimits(requests=4), Clock())
    with ExitStack() as under_way:
        for who in ("a", "a", "b", "b", "cdap", "cdap", "cdap"):
            under_way.enter_context(shares.taking(who))
        assert [asks(shares, who) for who in ("a", "b", "c", "cdap")] == [False, False, True, True]
    assert asks(shares, "a")


def test_whoever_has_had_its_share_is_told_when_to_come_back(tmp_path: Path) -> None:
    with serving(READ_AND_WRITE, tmp_path, limits=ServiceLimits(rate=3)) as world:
        answers = [world.ask("evaluate", "POST", "/authz/v1/authorize", ASKS) for _ in range(6)]
        others = [world.ask("delegate", "POST", "/authz/v1/authorize", ASKS) for _ in range(3)]

    refused = [answer for answer in answers if answer.status == 429]
    assert len(refused) in (2, 3)  # what comes together meanwhile
    assert {answer.headers["retry-after"] for answer in refused} == {"1"}
    assert {answer.json["code"] for answer in refused} == {"TOO_MANY_REQUESTS"}
    assert not [answer for answer in others if answer.status == 429]


def test_so_is_an_address_that_tries_secrets(tmp_path: Path) -> None:
    """Wrong secrets come out of the share of the address, so that they cannot be tried one after another."""
    with serving(READ_AND_WRITE, tmp_path, limits=ServiceLimits(rate=5)) as world:
        statuses = [world.ask(None, "GET", "/cdap/v1/policies", Authorization="Basic eDp5").status for _ in range(20)]
    assert set(statuses) == {401, 429}
