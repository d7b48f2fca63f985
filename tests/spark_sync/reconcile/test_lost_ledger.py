"""A state directory that was restored as a whole: noticed by event files and by Ranger before anything is granted."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.config import Settings
from ranger_cdap.errors import LedgerLost
from ranger_cdap.service.events.event_files import INCOMING, EventFiles
from ranger_cdap.wire.watermark import JOURNAL_ID
from spark_sync.ledger.life import State
from spark_sync.reconcile.manual import override
from spark_sync.reconcile.repair import RepairAction
from spark_sync.status import status
from tests.spark_sync.conftest import PASSWORD, WITHOUT_SPARK, Ranger
from tests.spark_sync.reconcile.test_reconcile import DS1, HOUR, NS1, NS2, created, deleted, inventory_of, reconciled
from tests.spark_sync.test_job import NOW, again, all_lives, flat, run, source, take_baseline

ROOT = Path(__file__).parents[3]


@dataclass
class Site:
    """A job whose decision service has its own directory, and a copy of the state from when ds1 of alice was pending.

    Since then: alice got her grant, the dataset was deleted, bob created it anew, and alice created ns2.
    """

    settings: Settings
    ranger: Ranger
    directory: Path

    @property
    def state(self) -> Path:
        return self.settings.sync.state_dir

    @property
    def events(self) -> Path:
        return self.directory / "events"

    def publish(self, *requests: Any, name: str = "") -> None:
        """Publish requests in one file as the decision service does; with a name as another program does."""
        text = "".join(json.dumps(line) + "\n" for line in flat(requests))
        if name:
            (self.events / name).write_text(text)
            return
        files = EventFiles(self.events)
        files.open()
        if requests:
            files.append(text.encode())
        files.publish()
        files.watermark.write(NOW, True, files.newest)
        files.close()

    def live(self, *, named: bool = False) -> None:
        """Play what the class says; `named`: the files are of another program."""
        self.publish()
        os.utime(self.events / INCOMING / JOURNAL_ID, (1, 1))  # so that baselines count for this journal
        self.publish()
        take_baseline(self.settings)
        files = [
            [created(NS1)],
            [created(DS1)],
            [deleted(DS1)],
            [again(created(DS1), "bob", 51, by=12 * HOUR), created(NS2)],
        ]
        for number, requests in enumerate(files, start=1):
            self.publish(*requests, name=f"{number}.jsonl" if named else "")
            if number == 2:
                run(self.settings, WITHOUT_SPARK, dry=True)
                shutil.copytree(self.state, self.directory / "copy")
            run(self.settings, WITHOUT_SPARK)

    def delete_files(self) -> dict[Path, bytes]:
        """Delete the event files, as the page on events allows: all were read."""
        content = {path: path.read_bytes() for path in self.events.glob("*.jsonl")}
        for path in content:
            path.unlink()
        return content

    def restore(self) -> None:
        shutil.rmtree(self.state)
        shutil.copytree(self.directory / "copy", self.state)

    def settle(self, *entities: Any) -> None:
        """As the error says."""
        from spark_sync.reconcile.baseline import take_baseline as take

        path = self.directory / "inventory.jsonl"
        listed = inventory_of(path, *entities)
        take(self.settings, path, now=NOW)
        assert reconciled(self.settings, inventory=listed, action=RepairAction.ADOPT).left == ()

    def refused(self) -> None:
        """No run writes anything."""
        version = self.ranger.policy_version()
        for _ in range(2):
            with pytest.raises(LedgerLost, match=r"`ranger-cdap sync baseline`.*`ranger-cdap sync reconcile --adopt`"):
                run(self.settings, WITHOUT_SPARK)
        assert self.ranger.policy_version() == version


@pytest.fixture
def site(ranger: Ranger, settings_for: Callable[..., Settings], tmp_path: Path) -> Site:
    return Site(settings_for(data_plane=source(tmp_path / "events")), ranger, tmp_path)


GRANTS = {"ns1": "alice", "ns2": "alice", "ds1 ns1": "bob"}


def test_a_restored_ledger_whose_event_files_are_gone_grants_nothing(site: Site) -> None:
    site.live()
    site.delete_files()
    assert site.ranger.grants() == GRANTS
    assert run(site.settings, WITHOUT_SPARK).wrote_nothing
    site.restore()
    site.refused()
    with pytest.raises(LedgerLost):
        status(site.settings, now=NOW)
    site.settle(NS1, NS2, DS1)
    assert run(site.settings, WITHOUT_SPARK).wrote_nothing
    assert site.ranger.grants() == GRANTS
    lives = [life for life in all_lives(site.settings) if life.entity in (NS1, NS2, DS1)]
    assert [(life.state, life.creator) for life in lives] == [
        (State.APPLIED, "bob"), (State.APPLIED, "alice"), (State.APPLIED, "alice")
    ]  # fmt: skip
    site.publish(again(deleted(DS1), "bob", 52, by=20 * HOUR))
    run(site.settings, WITHOUT_SPARK)
    assert site.ranger.grants() == {"ns1": "alice", "ns2": "alice"}


def test_what_was_pending_in_a_restored_ledger_has_no_creator_afterwards(site: Site) -> None:
    site.live()
    override(site.settings, DS1, None, now=NOW)
    run(site.settings, WITHOUT_SPARK)
    site.delete_files()
    site.restore()
    site.refused()
    site.settle(NS1, NS2, DS1)
    run(site.settings, WITHOUT_SPARK)
    assert site.ranger.grants() == {"ns1": "alice", "ns2": "alice"}


def test_a_restored_ledger_whose_event_files_are_there_reads_them_again(site: Site) -> None:
    site.live()
    version, content = site.ranger.policy_version(), site.delete_files()
    site.restore()
    site.refused()
    for path, text in content.items():
        path.write_bytes(text)
    run(site.settings, WITHOUT_SPARK)
    assert (site.ranger.grants(), site.ranger.policy_version()) == (GRANTS, version)


def test_a_grant_of_a_life_that_is_over_when_it_is_read_again_is_revoked(site: Site) -> None:
    """Restored before the creation, which a newer ledger has granted, and read with the deletion."""
    site.live()
    site.restore()
    site.publish(again(deleted(DS1), "bob", 53, by=20 * HOUR))
    run(site.settings, WITHOUT_SPARK)
    assert site.ranger.grants() == {"ns1": "alice", "ns2": "alice"}


def test_a_restored_ledger_is_noticed_by_policies_that_it_does_not_know(site: Site) -> None:
    """The names of files of other programs say nothing."""
    site.live(named=True)
    site.delete_files()
    site.restore()
    site.refused()
    site.settle(NS1, NS2, DS1)
    run(site.settings, WITHOUT_SPARK)
    assert site.ranger.grants() == GRANTS


def test_policies_alone_settle_what_was_pending(site: Site) -> None:
    site.live(named=True)
    override(site.settings, DS1, None, now=NOW)
    run(site.settings, WITHOUT_SPARK)
    site.delete_files()
    site.restore()
    site.refused()
    site.settle(NS1, NS2, DS1)
    run(site.settings, WITHOUT_SPARK)
    assert site.ranger.grants() == {"ns1": "alice", "ns2": "alice"}


@pytest.mark.parametrize("heading", ["Restore the ledger", "Restore event files"])
def test_the_page_restores_them_in_three_lines(site: Site, heading: str) -> None:
    """Typed by a shell, in which only `systemctl` and the change of the user do nothing."""
    site.live()
    version, content = site.ranger.policy_version(), site.delete_files()
    backup, ledger = site.directory / "backup", site.settings.sync
    shutil.copytree(site.directory / "copy", backup / "state")
    (backup / "events").mkdir()
    for path, text in content.items():
        (path if heading == "Restore the ledger" else backup / "events" / path.name).write_bytes(text)
    if heading == "Restore event files":
        site.restore()
        site.refused()
    (site.directory / "ranger-cdap.toml").write_text(
        f'[ranger]\nurl = "{site.ranger.url}"\nservice = "{site.ranger.service}"\n[cdap]\ninstance = "cdap"\n'
        f'[sync]\nusername = "sync"\npassword = "{PASSWORD}"\nstate_dir = "{site.state}"\n'
        f'[[sync.sources]]\nname = "data-plane"\nkind = "data-plane"\npath = "{site.events}"\n'
        f'callers = ["{ledger.sources[0].callers[0]}"]\n'
    )
    page = (ROOT / "docs" / "how-to" / "run-in-production.md").read_text(encoding="utf-8")
    lines = page.split(f"## {heading}\n")[1].split("```sh\n")[1].split("```")[0]
    assert lines.count("\n") == 3
    for there, here in {
        "/backup": backup, "/var/lib/ranger-cdap-sync": site.directory, "/var/lib/ranger-cdap": site.directory
    }.items():  # fmt: skip
        lines = lines.replace(f"{there}/", f"{here}/")
    shell = 'systemctl() { :; }\nas-sync() { "$@"; }\nranger-cdap() { "$PYTHON" -m ranger_cdap "$@"; }\n'
    environment = os.environ | {"PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-e", "-c", shell + lines],
        cwd=site.directory,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (site.ranger.grants(), site.ranger.policy_version()) == (GRANTS, version)


def test_a_copy_that_was_restored_at_once_is_in_order(site: Site) -> None:
    site.live()
    shutil.rmtree(site.directory / "copy")
    shutil.copytree(site.state, site.directory / "copy")
    site.delete_files()
    site.restore()
    assert run(site.settings, WITHOUT_SPARK).wrote_nothing
    assert site.ranger.grants() == GRANTS
