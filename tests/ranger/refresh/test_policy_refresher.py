"""Keeping policies fresh, from HTTP to the snapshot: what each answer of Ranger Admin does to what may decide."""

from __future__ import annotations

import logging
import threading
from typing import Any

import msgspec
import pytest
import responses

from ranger_cdap.config import Secret, Settings
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher, jitter
from tests.ranger.documents import SERVICE, policies, policy, roles
from tests.ranger.fixtures import (
    DISABLED,
    EXPIRED,
    FRESH,
    GONE,
    NO_SERVICE,
    NOT_READY,
    OFF,
    STALE,
    URL,
    Clock,
    FakeRanger,
    Started,
    may_read,
)
from tests.service.serve_process import until


def test_before_anything_was_loaded_nothing_decides(started: Started) -> None:
    snapshot = started().snapshot
    assert (snapshot.state, snapshot.engine) == (NOT_READY, None)
    assert snapshot.reason


def test_a_download_decides(started: Started, ranger: FakeRanger) -> None:
    snapshot = started().refresh()
    assert (snapshot.state, snapshot.reason, snapshot.versions.policies) == (FRESH, "", 1)
    assert may_read(snapshot)
    assert not may_read(snapshot, "bob")
    assert ranger.asked == ["policies -1", "roles -1", "users -1"]


def test_an_empty_set_is_ready_and_denies(started: Started, ranger: FakeRanger) -> None:
    ranger.documents["policies"] = policies(1)
    snapshot = started().refresh()
    assert snapshot.state is FRESH
    assert snapshot.engine is not None
    assert not may_read(snapshot)


def test_a_change_comes_into_force_with_the_next_refresh(started: Started, ranger: FakeRanger, clock: Clock) -> None:
    refresher = started()
    before = refresher.refresh()
    ranger.documents["policies"] = policies(2, policy(1, "bob"))
    clock.goes_on(30)
    after = refresher.refresh()
    assert (may_read(after), may_read(after, "bob")) == (False, True)
    assert may_read(before)
    assert ranger.asked[3:] == ["policies 1", "roles 1", "users 1"]


def test_not_modified_changes_only_the_time_of_contact(started: Started, clock: Clock) -> None:
    refresher = started()
    before = refresher.refresh()
    clock.goes_on(100)
    assert refresher.snapshot.state is STALE
    after = refresher.refresh()
    assert after.state is FRESH
    assert after.engine is before.engine
    assert (after.contact_at, before.contact_at) == (clock.wall, clock.wall - 100)


def test_a_change_of_roles_alone_comes_into_force(started: Started, ranger: FakeRanger) -> None:
    item = {"roles": ["ops"], "accesses": [{"type": "read", "isAllowed": True}]}
    ranger.documents["policies"] = policies(1, policy(1, policyItems=[item]))
    refresher = started()
    assert not may_read(refresher.refresh(), "carol")
    ranger.documents["roles"] = roles(2, ops=["carol"])
    assert may_read(refresher.refresh(), "carol")


# kind of download, its answer, then what a process with policies and one without say
EDGES: list[tuple[str, str, int, Any, str]] = [
    ("a wrong password", "policies", 401, {"statusCode": 401, "msgDesc": "Authentication Failed"}, "password"),
    (
        "no right to download",
        "policies",
        403,
        {"msgDesc": "User doesn't have permission to download policy"},
        "permission",
    ),
    ("the login page as 403", "policies", 403, b"<html>login</html>", "lacks the right"),
    ("the login page as 200", "policies", 200, b"<html>login</html>", "cannot be read"),
    ("a 404 that is not Ranger's", "policies", 404, b"<html>nginx</html>", "not from Ranger Admin"),
    ("a 404 without a body", "policies", 404, b"", "not from Ranger Admin"),
    ("a failure", "policies", 500, b"<html>trace</html>", "500"),
    ("a gateway", "policies", 503, b"", "unavailable"),
    ("garbage", "policies", 200, b"\x00\xff\x00", "cannot be read"),
    ("nothing", "policies", 200, b"", "cannot be read"),
    ("JSON cut short", "policies", 200, policies(2, policy(1))[:-20], "cannot be read"),
    ("another service's policies", "policies", 200, policies(2, policy(1), service="other"), "other"),
    (
        "no service definition",
        "policies",
        200,
        {"serviceName": SERVICE, "policyVersion": 2, "policies": []},
        "definition",
    ),
    (
        "no right to the roles",
        "roles",
        403,
        {"msgDesc": "User doesn't have permission to download roles"},
        "permission",
    ),
    ("roles are garbage", "roles", 200, b"[", "cannot be read"),
    ("another service's roles", "roles", 200, roles(2, service="other"), "other"),
]


@pytest.mark.parametrize(("kind", "status", "body", "said"), [row[1:] for row in EDGES], ids=[row[0] for row in EDGES])
def test_what_brings_nothing_usable(
    started: Started, ranger: FakeRanger, clock: Clock, kind: str, status: int, body: Any, said: str
) -> None:
    """Without policies nothing decides; with policies they go on deciding and grow old; either way it is said."""
    ranger.answers(status, body, kind)
    snapshot = started().refresh()
    assert (snapshot.state, snapshot.engine) == (NOT_READY, None)
    assert said in snapshot.reason
    assert "<" not in snapshot.reason

    ranger.is_back()
    refresher = started()
    before = refresher.refresh()
    ranger.answers(status, body, kind)
    clock.goes_on(31)
    during = refresher.refresh()
    assert (during.state, during.engine) == (FRESH, before.engine)
    assert said in during.reason
    clock.goes_on(60)
    assert refresher.refresh().state is STALE
    clock.goes_on(86_400)
    assert (refresher.refresh().state, refresher.snapshot.engine) == (EXPIRED, None)
    ranger.is_back()
    assert refresher.refresh().state is FRESH


@pytest.mark.parametrize("kind", ["policies", "roles"])
def test_not_modified_of_what_nobody_has_is_no_answer(started: Started, ranger: FakeRanger, kind: str) -> None:
    ranger.answers(304, b"", kind)
    snapshot = started().refresh()
    assert (snapshot.state, snapshot.engine) == (NOT_READY, None)
    assert "without a known version" in snapshot.reason


@pytest.mark.parametrize("kind", ["policies", "roles", "tags", "users"])
def test_a_failed_login_is_repeated_less_often(started: Started, ranger: FakeRanger, kind: str) -> None:
    ranger.documents["policies"] = policies(1, policy(1), tagged=True)
    ranger.answers(401, b"", kind)
    refresher = started()
    refresher.refresh()
    assert len(ranger.asked) <= 4
    assert 300 / refresher.interval < 5
    ranger.is_back()
    refresher.refresh()
    assert refresher.interval == 30


def test_a_failure_that_passes_is_not_noticed(started: Started, ranger: FakeRanger) -> None:
    ranger.fails_at_first = [500, 503]
    assert started().refresh().state is FRESH
    assert ranger.fails_at_first == []


def test_a_disabled_service_decides_as_before_until_it_expires(
    started: Started, ranger: FakeRanger, clock: Clock
) -> None:
    refresher = started()
    before = refresher.refresh()
    ranger.answers(400, OFF)
    clock.goes_on(30)
    during = refresher.refresh()
    assert (during.state, during.engine) == (DISABLED, before.engine)
    assert "disabled" in during.reason
    clock.goes_on(86_400)
    assert refresher.refresh().engine is None


def test_a_deleted_service_denies_and_no_restart_revives_it(started: Started, ranger: FakeRanger, clock: Clock) -> None:
    refresher = started()
    refresher.refresh()
    ranger.answers(404, NO_SERVICE)
    clock.goes_on(30)
    assert refresher.refresh().state is FRESH
    clock.goes_on(30)
    gone = refresher.refresh()
    assert (gone.state, gone.engine) == (GONE, None)
    assert SERVICE in gone.reason
    ranger.is_away()
    assert started().refresh().state is NOT_READY
    ranger.is_back()
    assert refresher.refresh().state is FRESH


# Time, threads, listeners


def test_plugins_that_start_together_do_not_ask_together_for_ever() -> None:
    factors = {jitter() for _ in range(200)}
    assert len(factors) > 100
    assert 0.9 <= min(factors) < 0.95 < 1.05 < max(factors) <= 1.1


def test_policies_expire_while_a_download_hangs(started: Started, ranger: FakeRanger, clock: Clock) -> None:
    """The refreshing thread is busy; whoever asks for a decision sees that the policies grow old."""
    refresher = started()
    refresher.refresh()
    hanging, released = threading.Event(), threading.Event()

    def hang(request: Any) -> Any:
        hanging.set()
        released.wait(10)
        return 304, {}, b""

    for registered in responses.mock.registered():
        registered.callback = hang  # type: ignore[attr-defined]
    thread = threading.Thread(target=refresher.refresh)
    thread.start()
    try:
        assert hanging.wait(10)
        assert refresher.snapshot.state is FRESH
        clock.goes_on(91)
        assert refresher.snapshot.state is STALE
        clock.goes_on(86_400)
        assert (refresher.snapshot.state, refresher.snapshot.engine) == (EXPIRED, None)
    finally:
        released.set()
        thread.join()
    assert refresher.snapshot.state is FRESH


def test_broken_policies_are_said_once_and_not_by_the_thousand(
    started: Started, ranger: FakeRanger, caplog: pytest.LogCaptureFixture
) -> None:
    broken = [policy(n, resources={"galaxy": {"values": [f"g{n}"]}}) for n in range(1, 101)]
    ranger.documents["policies"] = policies(1, *broken)
    refresher = started()
    assert len(refresher.refresh().engine.problems) >= 100  # type: ignore[union-attr]
    said = caplog.text.count("[unknown-resource]")
    assert 0 < said <= 20
    assert "more" in caplog.text
    caplog.clear()
    ranger.documents["policies"] = policies(2, *broken, policy(101))
    refresher.refresh()
    assert "[unknown-resource]" not in caplog.text


def test_the_background_thread_brings_changes_and_ends(ranger: FakeRanger, settings: Settings) -> None:
    quick = msgspec.structs.replace(settings, plugin=msgspec.structs.replace(settings.plugin, poll_interval=0.01))

    admin = RangerAdmin(AdminConnection(URL, username="cdapsvc", password=Secret("x")))
    with PolicyRefresher(admin, quick) as refresher:
        refresher.start()
        refresher.start()
        ranger.documents["policies"] = policies(2)
        until(lambda: refresher.snapshot.has(2))
        assert [t.name for t in threading.enumerate()].count("ranger-cdap-policies") == 1
    assert "ranger-cdap-policies" not in [t.name for t in threading.enumerate()]


def test_many_threads_that_refresh_and_look_see_whole_sets(started: Started, ranger: FakeRanger) -> None:
    refresher, wrong = started(), []

    def work() -> None:
        for _ in range(20):
            snapshot = refresher.refresh()
            if snapshot.engine is None or snapshot.engine.policy_version != snapshot.versions.policies:
                wrong.append(snapshot)

    def change() -> None:
        for version in range(2, 30):
            ranger.documents["policies"] = policies(version)

    threads = [threading.Thread(target=work) for _ in range(4)] + [threading.Thread(target=change)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert refresher.refresh().versions.policies == 29


def test_no_secret_is_ever_logged(started: Started, ranger: FakeRanger, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    refresher = started()
    refresher.refresh()
    for status in (401, 403, 500):
        ranger.answers(status, {"msgDesc": "Passw0rd!x"})
        refresher.refresh()
    assert "Passw0rd!x" not in caplog.text + refresher.snapshot.reason
    assert "*****" in caplog.text
