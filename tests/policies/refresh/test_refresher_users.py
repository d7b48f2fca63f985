"""Users and their groups: downloaded, cached and swapped with the policies."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ranger_cdap.config import Settings
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.refresh.policy_refresher import PolicyRefresher
from tests.policies.documents import users
from tests.policies.fixtures import NOT_READY, Clock, FakeRanger, Started, may_read


def test_groups_come_from_the_user_store(started: Started, ranger: FakeRanger) -> None:
    ranger.documents["users"] = users(4, alice=["sales", "staff"])
    snapshot = started().refresh()
    assert snapshot.versions.users == 4
    assert snapshot.groups_of("alice") == {"sales", "staff"}
    assert snapshot.groups_of("nobody") == frozenset()


def test_a_change_of_groups_alone_comes_into_force(started: Started, ranger: FakeRanger) -> None:
    ranger.documents["users"] = users(1, alice=["sales"])
    refresher = started()
    refresher.refresh()
    ranger.documents["users"] = users(2, alice=[])
    assert refresher.refresh().groups_of("alice") == frozenset()
    assert refresher.refresh().versions.users == 2


def test_a_restart_without_ranger_knows_the_groups(started: Started, ranger: FakeRanger) -> None:
    ranger.documents["users"] = users(1, alice=["sales"])
    started().refresh()
    ranger.is_away()
    snapshot = started().refresh()
    assert may_read(snapshot)
    assert snapshot.groups_of("alice") == {"sales"}


def test_a_cache_without_the_users_does_not_decide_for_who_needs_them(
    started: Started, ranger: FakeRanger, settings: Settings
) -> None:
    started().refresh()
    (settings.plugin.cache_dir / "cdap_cdapdev_userstore.json").unlink()
    ranger.is_away()
    assert started().refresh().engine is None


@pytest.mark.parametrize(
    ("status", "body"),
    [(403, {"msgDesc": "no"}), (404, b""), (500, b""), (200, b"<html>"), (200, b'{"userStoreVersion":[]}')],
)
def test_users_that_can_not_be_had_mean_not_ready(started: Started, ranger: FakeRanger, status: int, body: Any) -> None:
    ranger.answers(status, body, "users")
    snapshot = started().refresh()
    assert (snapshot.state, snapshot.engine) == (NOT_READY, None)
    if status != 200:
        assert "`userstore.download.auth.users`" in snapshot.reason
        assert "`plugin.use_ranger_groups`" in snapshot.reason


def test_who_does_not_want_groups_does_not_ask_for_users(ranger: FakeRanger, settings: Settings, clock: Clock) -> None:
    ranger.answers(403, b"", "users")
    plugin = msgspec.structs.replace(settings.plugin, use_ranger_groups=False)
    with PolicyRefresher(
        RangerAdmin.connect(settings, plugin.username, plugin.password),
        msgspec.structs.replace(settings, plugin=plugin),
        clock=clock,
    ) as refresher:
        assert may_read(refresher.refresh())
    assert not any(asked.startswith("users") for asked in ranger.asked)
