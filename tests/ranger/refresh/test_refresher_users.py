"""Users and their groups: downloaded, cached and swapped with the policies."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ranger_cdap.config import Settings
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher
from ranger_cdap.ranger.refresh.policy_set_download import WHOLE_USERS_EVERY
from tests.ranger.documents import users
from tests.ranger.fixtures import NOT_READY, Clock, FakeRanger, Started, may_read


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


def test_memberships_that_change_without_a_new_version_are_known_in_five_minutes(
    started: Started, ranger: FakeRanger, clock: Clock
) -> None:
    """As in Ranger before 2.9.0 (RANGER-5463); what did not change is not another set."""
    ranger.documents["users"] = users(1, alice=["sales"], bob=["sales"])
    refresher = started()
    before = refresher.refresh()
    ranger.documents["users"] = users(1, alice=["sales"])
    clock.goes_on(WHOLE_USERS_EVERY - 1)
    assert refresher.refresh().groups_of("bob") == {"sales"}
    clock.goes_on(1)
    after = refresher.refresh()
    assert (after.groups_of("alice"), after.groups_of("bob")) == ({"sales"}, frozenset())
    assert after.engine is not before.engine
    clock.goes_on(WHOLE_USERS_EVERY)
    assert refresher.refresh().engine is after.engine
    assert [asked for asked in ranger.asked if "users" in asked] == ["users -1", "users 1", "users -1", "users -1"]


def test_a_restart_downloads_the_users_again(started: Started, ranger: FakeRanger) -> None:
    """Those of the cache may be as old as the policies are allowed to be."""
    ranger.documents["users"] = users(1, alice=["sales"])
    started().refresh()
    ranger.documents["users"] = users(1, alice=[])
    assert started().refresh().groups_of("alice") == frozenset()


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


def test_what_is_printed_of_the_policies_in_effect_names_no_one(started: Started, ranger: FakeRanger) -> None:
    """A debugger, a shell or a log that shows them would show the directory of users otherwise."""
    ranger.documents["users"] = users(4, alice=["sales", "staff"])
    snapshot = started().refresh()
    shown = f"{snapshot!r} {snapshot.documents!r}"
    assert [word for word in ("alice", "sales", "policyItems") if word in shown] == []
    assert len(shown) < 2_000
