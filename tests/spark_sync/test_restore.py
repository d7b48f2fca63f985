"""Ranger restored from a backup of its database, by the commands of the production page."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import is_creators_policy
from ranger_cdap.cli.main import main
from ranger_cdap.config import Secret
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.testing.admin import EmbeddedAdmin
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.ledger_version import note_versions
from spark_sync.ledger.life import Life
from tests.spark_sync.conftest import PASSWORD, register_cdap
from tests.spark_sync.grants.fixtures import gone, life

PAGE = Path(__file__).parents[2] / "docs/how-to/run-in-production.md"
DOWNLOADS = ("policy", "tag", "userstore")
OLD, KEPT, LATER, LAST = (EntityId("dataset", ("ns1", name)) for name in ("old", "kept", "later", "last"))


def commands() -> list[list[str]]:
    """The commands of the page after a restore, without the users that they run as."""
    section = PAGE.read_text(encoding="utf-8").partition("## After a restore of Ranger from a backup")[2]
    block = re.search(r"```sh\n(.*?)```", section, re.DOTALL)
    assert block
    return [line.split()[2:] for line in block.group(1).splitlines()]


@contextmanager
def ranger_at(database: Path, port: int) -> Iterator[tuple[int, RangerAdmin]]:
    with (
        EmbeddedAdmin(database, admin_password=PASSWORD, port=port) as server,
        RangerAdmin(AdminConnection(server.url, username="admin", password=Secret(PASSWORD))) as admin,
    ):
        yield int(server.url.rpartition(":")[2]), admin


def test_the_commands_of_the_page_put_every_grant_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("spark_sync.grants.observe.EVERY", 0)
    database, backup = tmp_path / "ranger.db", tmp_path / "backup.db"

    def run(*words: str) -> str:
        capsys.readouterr()
        assert main([*words]) == 0, words
        return capsys.readouterr().out

    def record(*lives: Life) -> None:
        ledger = DeltaLedger(tmp_path / "state", "cdap")
        ledger.record([LedgerChange(None, each) for each in lives])
        note_versions(ledger)

    def found(entity: EntityId) -> Life:
        return DeltaLedger(tmp_path / "state", "cdap").find_lives(entities=[entity])[-1]

    with ranger_at(database, 0) as (port, admin):
        register_cdap(admin)
        rights = {"service.admin.users": "sync"} | {f"{what}.download.auth.users": "svc" for what in DOWNLOADS}
        admin.create_service({"name": "cdapdev", "type": "cdap", "isEnabled": True, "configs": rights})
        Path("ranger-cdap.toml").touch(mode=0o600)
        Path("ranger-cdap.toml").write_text(
            f'[ranger]\nurl = "http://127.0.0.1:{port}"\nservice = "cdapdev"\n'
            f'[plugin]\nusername = "svc"\npassword = "{PASSWORD}"\ncache_dir = "cache"\n'
            f'[sync]\nusername = "sync"\npassword = "{PASSWORD}"\nstate_dir = "state"\n'
        )
        record(life("alice", OLD), life("alice", KEPT))
        run("sync", "run")
    shutil.copy(database, backup)
    with ranger_at(database, port) as (_, admin):
        record(gone(found(OLD)))
        run("sync", "run")
        record(life("bob", OLD, number=2), life("bob", LATER), life("bob", LAST))
        run("sync", "run")
        run("policies", "refresh")
        right = grants(admin)
        assert right == {"old": "bob", "kept": "alice", "later": "bob", "last": "bob"}
    shutil.copy(backup, database)
    with ranger_at(database, port) as (_, admin):
        assert grants(admin) == {"old": "alice", "kept": "alice"}
        said = [run(*words) for words in commands()]
        assert (
            "Ranger went back to an older state, as after a restore: 3 lost or older grants to write again," in said[0]
        )
        assert (said[-1], grants(admin)) == ("no drift: ledger and Ranger agree\n", right)
        went_back = json.loads(run("sync", "status", "--json"))["went_back"]
        assert went_back["what"].endswith("1 ended or taken ones to revoke again")
        assert "went back" not in run("sync", "run")


def grants(admin: RangerAdmin) -> dict[str, str]:
    """Who has each dataset."""
    return {
        policy.resources["dataset"].values[0]: policy.policy_items[0].users[0]
        for policy in admin.list_policies("cdapdev")
        if "dataset" in policy.resources and is_creators_policy(policy)
    }
