"""An embedded Ranger Admin that commands talk to."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ranger_cdap.config import Secret
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin

PASSWORD = "Correct-Horse-1"


@pytest.fixture
def ranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RangerAdmin]:
    """An embedded Ranger Admin with its accounts, and a configuration file in the working directory."""
    with EmbeddedAdmin(admin_password=PASSWORD) as embedded:
        admin = RangerAdmin(AdminConnection(embedded.url, username="admin", password=Secret(PASSWORD)))
        for name in ("cdapplugin", "cdapsync", "alice", "bob"):
            admin.create_user(name, Secret(PASSWORD))
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("RANGER_CDAP_SETUP_PASSWORD", PASSWORD)
        (tmp_path / "ranger-cdap.toml").write_text(
            f"""
            [ranger]
            url = "{embedded.url}"
            [plugin]
            username = "cdapplugin"
            password = "{PASSWORD}"
            cache_dir = "{tmp_path}/cache"
            [sync]
            username = "cdapsync"
            password = "{PASSWORD}"
            """
        )
        yield admin
        admin.close()


def grant(admin: RangerAdmin, name: str, resource: dict[str, str], user: str, access: str) -> None:
    admin.create_policy(
        Policy(
            service="cdapdev",
            name=name,
            resources={level: PolicyResource(values=[value]) for level, value in resource.items()},
            policy_items=[PolicyItem(users=[user], accesses=[PolicyItemAccess(type=access)])],
        )
    )
