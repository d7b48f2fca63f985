"""A refresh somebody asks for: in force when it returns, or a typed error; or a nudge that nobody waits for."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
import pytest
import requests

from ranger_cdap import errors
from ranger_cdap.config import Secret, Settings
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher, read_clocks
from tests.ranger.documents import policies, policy
from tests.ranger.fixtures import FRESH, NO_SERVICE, OFF, URL, FakeRanger, Started, may_read
from tests.service.serve_process import until

WAITING = 8
MANY_DOWNLOADS = 3 * 3
"""Requests of three refreshes: policies, roles and tags each, or without tags of more."""
GAP = 0.5
"""Seconds between downloads that are requested."""


def test_what_ranger_admin_has_is_in_force_when_it_returns(started: Started, ranger: FakeRanger) -> None:
    refresher = started()
    assert refresher.refresh_now().versions.policies == 1
    ranger.documents["policies"] = policies(2, policy(1, "bob"))
    snapshot = refresher.refresh_now()
    assert (snapshot.state, snapshot.versions.policies, may_read(snapshot, "bob")) == (FRESH, 2, True)


# what Ranger Admin answers, and the error that is raised
WHY_NOT: list[tuple[str, Any, type[errors.RangerCdapError]]] = [
    ("a wrong password", (401, b""), errors.AuthenticationFailed),
    ("no right to download", (403, b""), errors.AccessForbidden),
    ("no such service", (404, msgspec.json.encode(NO_SERVICE)), errors.ServiceNotFound),
    ("a disabled service", (400, msgspec.json.encode(OFF)), errors.ServiceDisabled),
    ("a failure", (500, b""), errors.AdminFailed),
    ("away", requests.ConnectionError(), errors.AdminUnreachable),
    ("garbage", (200, b"<html>"), errors.PolicySetError),
    ("another service's policies", (200, policies(9, service="other")), errors.PolicySetError),
    ("a broken library", ZeroDivisionError(), errors.UnexpectedAnswer),
]


@pytest.mark.parametrize(("answer", "error"), [row[1:] for row in WHY_NOT], ids=[row[0] for row in WHY_NOT])
def test_what_can_not_be_had_is_an_error_and_what_was_in_force_decides(
    started: Started, ranger: FakeRanger, answer: Any, error: type[errors.RangerCdapError]
) -> None:
    refresher = started()
    before = refresher.refresh_now()
    ranger.instead["policies"] = answer
    with pytest.raises(error) as caught:
        refresher.refresh_now()
    assert (refresher.snapshot.engine, refresher.snapshot.reason) == (before.engine, str(caught.value))
    ranger.is_back()
    assert refresher.refresh_now().reason == ""


def test_a_cache_alone_is_no_answer_to_who_asks_for_now(started: Started, ranger: FakeRanger) -> None:
    started().refresh()
    ranger.is_away()
    refresher = started()
    with pytest.raises(errors.AdminUnreachable):
        refresher.refresh_now()
    assert may_read(refresher.snapshot)


@pytest.fixture
def hourly(ranger: FakeRanger, settings: Settings) -> Iterator[PolicyRefresher]:
    """A refresher whose background thread asks once an hour."""
    plugin = msgspec.structs.replace(settings.plugin, poll_interval=3600.0)
    admin = RangerAdmin(AdminConnection(URL, username="cdapsvc", password=Secret("Passw0rd!x")))
    with PolicyRefresher(admin, msgspec.structs.replace(settings, plugin=plugin)) as refresher:
        yield refresher


def test_a_nudge_makes_the_next_refresh_earlier_each_time(hourly: PolicyRefresher, ranger: FakeRanger) -> None:
    hourly.start()
    until(lambda: hourly.snapshot.has(1))
    for version in (2, 3):
        ranger.documents["policies"] = policies(version)
        hourly.request_refresh()
        until(lambda version=version: hourly.snapshot.has(version))  # type: ignore[misc]


def test_the_background_thread_prepares_the_policies_in_effect(
    hourly: PolicyRefresher, ranger: FakeRanger, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[tuple[int, str]] = []
    monkeypatch.setattr(
        PolicyEngine, "prepare", lambda e: prepared.append((e.policy_version, threading.current_thread().name))
    )
    hourly.refresh()
    hourly.start()
    until(lambda: bool(prepared))
    ranger.documents["policies"] = policies(2)
    hourly.request_refresh()
    until(lambda: len(prepared) > 1)
    assert prepared == [(1, "ranger-cdap-policies"), (2, "ranger-cdap-policies")]


def test_a_nudge_hastens_no_login_that_failed(hourly: PolicyRefresher, ranger: FakeRanger) -> None:
    hourly.refresh()
    ranger.answers(401)
    hourly.refresh()
    hourly.start()
    ranger.is_back()
    ranger.documents["policies"] = policies(2)
    hourly.request_refresh()
    time.sleep(0.5)
    assert not hourly.snapshot.has(2)
    assert hourly.refresh_now().versions.policies == 2
    ranger.documents["policies"] = policies(3)
    hourly.request_refresh()
    until(lambda: hourly.snapshot.has(3))


def test_who_waits_for_a_version_in_effect_downloads_nothing(started: Started, ranger: FakeRanger) -> None:
    refresher = started()
    refresher.refresh()
    before = list(ranger.asked)
    for version in (0, 1):
        assert refresher.refresh_to(version, timeout=0).versions.policies == 1
    assert ranger.asked == before


@pytest.mark.parametrize("background", [False, True])
def test_who_waits_for_a_version_gets_it_once_ranger_admin_has_it(
    hourly: PolicyRefresher, ranger: FakeRanger, background: bool
) -> None:
    hourly.refresh()
    if background:
        hourly.start()
    later = threading.Event()

    def written() -> None:
        later.wait(10)
        ranger.documents["policies"] = policies(2, policy(1, "bob"))

    with ThreadPoolExecutor(1 + WAITING) as threads:
        threads.submit(written)
        waiting = [threads.submit(hourly.refresh_to, 2, 20) for _ in range(WAITING)]
        while len(ranger.asked) < MANY_DOWNLOADS:  # they go on asking
            assert not any(found.done() for found in waiting)
        later.set()
        assert {may_read(found.result(20), "bob") for found in waiting} == {True}


def test_who_waits_in_vain_is_refused_in_time(started: Started, ranger: FakeRanger) -> None:
    refresher = started(clock=read_clocks)
    refresher.refresh()
    with pytest.raises(errors.VersionPending, match="version `2` are not in effect after 0 s: version `1` is"):
        refresher.refresh_to(2, timeout=0)
    with pytest.raises(errors.VersionPending):
        refresher.refresh_to(2, timeout=0.01)


def test_a_closed_refresher_makes_nobody_wait(started: Started) -> None:
    refresher = started()
    refresher.refresh()
    refresher.close()
    with pytest.raises(errors.VersionPending):
        refresher.refresh_to(2, timeout=3600)


@pytest.mark.parametrize(("answer", "error"), [row[1:] for row in WHY_NOT], ids=[row[0] for row in WHY_NOT])
def test_who_waits_for_a_version_learns_why_it_does_not_come(
    started: Started, ranger: FakeRanger, answer: Any, error: type[errors.RangerCdapError]
) -> None:
    refresher = started(clock=read_clocks)
    refresher.refresh()
    ranger.instead["policies"] = answer
    with pytest.raises(error):
        refresher.refresh_to(2, timeout=60)
    assert refresher.refresh_to(1, timeout=0).versions.policies == 1
    ranger.is_back()


def test_who_waits_after_a_failed_login_causes_no_other(started: Started, ranger: FakeRanger) -> None:
    refresher = started()
    refresher.refresh()
    ranger.answers(401)
    refresher.refresh()
    before = list(ranger.asked)
    for _ in range(5):
        with pytest.raises(errors.AuthenticationFailed):
            refresher.refresh_to(2, timeout=60)
    assert ranger.asked == before


def test_many_who_wait_cause_at_most_two_downloads_a_second(started: Started, ranger: FakeRanger) -> None:
    refresher = started(clock=read_clocks)
    began = time.monotonic()
    refresher.refresh()
    before = len(ranger.asked)

    def wait_in_vain() -> None:
        with pytest.raises(errors.VersionPending):
            refresher.refresh_to(99, timeout=1.2)

    with ThreadPoolExecutor(WAITING) as threads:
        for waited in [threads.submit(wait_in_vain) for _ in range(WAITING)]:
            waited.result()
    downloads = sum(asked.startswith("policies") for asked in ranger.asked[before:])
    assert 1 <= downloads <= (time.monotonic() - began) / GAP


def test_requests_without_pause_cause_at_most_two_downloads_a_second(
    hourly: PolicyRefresher, ranger: FakeRanger
) -> None:
    hourly.start()
    until(lambda: hourly.snapshot.has(1))
    before, began = len(ranger.asked), time.monotonic()
    ranger.documents["policies"] = policies(2)
    while not hourly.snapshot.has(2):
        hourly.request_refresh()
        time.sleep(0.001)
    ranger.documents["policies"] = policies(3)
    while not hourly.snapshot.has(3):
        hourly.request_refresh()
        time.sleep(0.001)
    downloads = sum(asked.startswith("policies") for asked in ranger.asked[before:])
    assert 2 <= downloads <= 1 + (time.monotonic() - began) / GAP


def test_without_a_background_thread_there_is_nothing_to_hasten(started: Started) -> None:
    with pytest.raises(errors.InvalidInput, match="background"):
        started().request_refresh()


def test_a_nudged_keeper_ends_at_once(hourly: PolicyRefresher) -> None:
    hourly.start()
    hourly.request_refresh()
    hourly.close()
    assert "ranger-cdap-policies" not in [thread.name for thread in threading.enumerate()]
