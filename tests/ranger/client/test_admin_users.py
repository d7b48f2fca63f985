"""Administrators of the CDAP instance (requirements S001-P4, S001-P5): they edit policies and see no data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import parse_entity
from ranger_cdap.config import (
    AdminSettings,
    PluginSettings,
    RangerSettings,
    Secret,
    Settings,
)
from ranger_cdap.errors import AccessForbidden, RangerAdminError
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin

PASSWORD = Secret("Correct-Horse-1")
SERVICE = "cdapdev"


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    """A Ranger Admin with the service set up for the administrator ann; bob is nobody in particular."""
    with EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server:
        plugin = PluginSettings(username="plugin", password=PASSWORD, cache_dir=tmp_path)
        found = Settings(ranger=RangerSettings(url=server.url), plugin=plugin, admin=AdminSettings(users=("ann",)))
        with RangerAdmin.connect(found, "admin", PASSWORD) as admin:
            for name in ("plugin", "ann", "bob"):
                admin.create_user(name, PASSWORD)
            wanted = DesiredState(SERVICE, "cdap", plugin_account="plugin", admin_users=found.admin.users)
            service_setup.set_up(admin, wanted)
        yield found


def policy(user: str, number: int = 1) -> Policy:
    levels = {"instance": "cdap", "namespace": "ns1", "dataset": f"kv{number}"}
    return Policy(
        service=SERVICE,
        name=f"kv{number}",
        resources={level: PolicyResource(values=[value]) for level, value in levels.items()},
        policy_items=[PolicyItem(users=[user], accesses=[PolicyItemAccess(type="read")])],
    )


def test_an_administrator_edits_every_policy_and_others_none(settings: Settings) -> None:
    with RangerAdmin.connect(settings, "ann", PASSWORD) as ann:
        made = ann.create_policy(policy("bob"))
        made.policy_items[0].users.append("ann")
        assert ann.update_policy(made).policy_items[0].users == ["bob", "ann"]
    with (
        RangerAdmin.connect(settings, "bob", PASSWORD) as bob,
        pytest.raises((AccessForbidden, RangerAdminError)),
    ):
        bob.create_policy(policy("bob", 2))


def test_an_administrator_has_the_instance_and_no_data(settings: Settings) -> None:
    kv, ns1, instance = (parse_entity(text) for text in ("dataset:ns1.kv1", "namespace:ns1", "instance:"))
    with Authorizer.open(settings, refresh_in_background=False) as authorizer:
        assert authorizer.check("ann", (), "namespace.create", ns1).allowed
        assert authorizer.visible("ann", (), [instance, ns1, kv]) == [instance]
        for operation, entity in (
            ("dataset.get", kv),
            ("dataset.drop", kv),
            ("namespace.get", ns1),
            ("namespace.delete", ns1),
        ):
            assert not authorizer.check("ann", (), operation, entity).allowed
        assert not authorizer.check("bob", (), "namespace.create", ns1).allowed
