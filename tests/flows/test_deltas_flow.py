"""Policies edited in a Ranger Admin that sends changes only: the plugin decides as one that downloads everything."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.config import PluginSettings, RangerSettings, Secret, Settings
from ranger_cdap.engine import AccessRequest
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.documents import holds_deltas
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher, Snapshot
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin
from servicedef import service_definition

SERVICE = "cdapdev"
PASSWORD = Secret("Correct-Horse-1")
NAMES = ("a", "b", "c")
USERS = ("alice", "bob")


@pytest.fixture
def admin() -> Iterator[RangerAdmin]:
    with (
        EmbeddedAdmin(admin_password=PASSWORD.reveal(), policy_deltas=True) as server,
        RangerAdmin(AdminConnection(server.url, username="admin", password=PASSWORD)) as admin,
    ):
        admin.create_service_def(service_definition())
        admin.create_service({"name": SERVICE, "type": "cdap", "isEnabled": True, "configs": {}})
        for user in USERS:
            admin.create_user(user, PASSWORD)
        yield admin


class Watched(RangerAdmin):
    """Counts the downloads that held changes only."""

    changes = 0

    def download_policies(self, service: str, **more: Any) -> bytes | None:
        text = super().download_policies(service, **more)
        self.changes += text is not None and holds_deltas(text)
        return text


def refresher(admin: RangerAdmin, cache: Path, watched: Watched | None = None) -> PolicyRefresher:
    plugin = PluginSettings(username="admin", password=PASSWORD, cache_dir=cache)
    settings = Settings(ranger=RangerSettings(url=admin.url, service=SERVICE), plugin=plugin)
    return PolicyRefresher(watched or RangerAdmin.connect(settings, "admin", PASSWORD), settings)


def policy(draw: random.Random, name: str) -> Policy:
    item = PolicyItem(users=[draw.choice(USERS)], accesses=[PolicyItemAccess(type=draw.choice(("read", "write")))])
    resources = {"instance": PolicyResource(values=["cdap"]), "namespace": PolicyResource(values=[name])}
    deny = [item] if draw.random() < 0.3 else []
    return Policy(
        service=SERVICE, name=name, resources=resources, policy_items=[] if deny else [item], deny_policy_items=deny
    )


def edit(admin: RangerAdmin, draw: random.Random) -> None:
    """Create, change, switch off or delete one policy."""
    name = draw.choice(NAMES)
    there = admin.policy_by_name(SERVICE, name)
    if there is None:
        admin.create_policy(policy(draw, name))
    elif draw.random() < 0.4:
        assert there.id is not None
        admin.delete_policy(there.id)
    else:
        changed = policy(draw, name)
        changed.id, changed.is_enabled = there.id, draw.random() < 0.8
        admin.update_policy(changed)


def decisions(snapshot: Snapshot) -> list[tuple[bool, int]]:
    assert snapshot.engine is not None
    found = [
        snapshot.engine.evaluate(AccessRequest({"instance": "cdap", "namespace": name}, access, user))
        for name in (*NAMES, "other")
        for access in ("read", "write")
        for user in USERS
    ]
    return [(decision.allowed, decision.policy_id) for decision in found]


@pytest.mark.parametrize("seed", range(3))
def test_edits_that_come_as_changes_decide_like_a_whole_download(admin: RangerAdmin, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)
    seen = set()
    watched = Watched(AdminConnection(admin.url, username="admin", password=PASSWORD))
    with refresher(admin, tmp_path / "kept", watched) as kept:
        kept.refresh()
        for step in range(25):
            for _ in range(draw.randrange(1, 4)):
                edit(admin, draw)
            now = decisions(kept.refresh())
            with refresher(admin, tmp_path / str(step)) as fresh:
                assert now == decisions(fresh.refresh())
                assert fresh.snapshot.versions.policies == kept.snapshot.versions.policies
            seen.add(tuple(now))
    assert len(seen) > 5
    assert watched.changes > 20
    with refresher(admin, tmp_path / "kept") as restarted:
        assert decisions(restarted.refresh()) == now
