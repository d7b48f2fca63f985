"""Runs that are killed, at every step, and one that is not, end where runs end that nobody killed: ledger and Ranger.

Each step has its namespace in one ledger, with the same history: things are made in a run before, and one of them is
deleted and made again by somebody else, with some new ones, in the run that is killed. The latest step comes first, so
that none of the next runs finishes what it left, until the last one does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import Settings
from spark_sync.ledger.life import State
from tests.short_lived_java import QUICK_JAVA
from tests.spark_sync import killing
from tests.spark_sync.conftest import PASSWORD, Ranger, new_service, settings_of
from tests.spark_sync.killing import STEPS, Killed, Step, kill_at, raise_killed
from tests.spark_sync.recorded_lines import CALLER, TAKEN, Lines, created, deleted, write_watermark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ranger_cdap.policies.client.ranger_admin import RangerAdmin

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NOW = 1_900_000_000_000
NAMESPACES = {"nobody kills it": "quiet"} | {name: f"killed{n}" for n, name in enumerate(STEPS)}

# These are killed for good, by a signal, and Spark's driver with them; the others by an exception that nobody catches,
# which costs no new driver. While a source is read that exception would reach Spark, and no process dies like that.
BY_SIGNAL = (
    "lines are read, their events are not in the ledger",
    "events are in the ledger, the source has not noted that",
    "between two policies",
)


def dataset(name: str) -> EntityId:
    return EntityId("dataset", ("NS0", name))


KV, APP = dataset("kv"), EntityId("application", ("NS0", "Shop"))
BEFORE = (created("alice", KV, 0), created("alice", dataset("stays"), 0))
IN_THE_RUN = (
    deleted("alice", KV, 300),
    created("bob", KV, 600),
    created("alice", APP, 600),
    created("alice", dataset("new1"), 600),
    created("bob", dataset("new2"), 600),
    created("public", dataset("new3"), 600),
    created("bob", dataset("stays"), 600),
    Lines("data-plane", "garbage in NS0"),
)


@dataclass(frozen=True)
class World:
    settings: Settings
    ranger: Ranger
    inbox: Path
    config: Path

    def deliver(self, namespace: str, told: tuple[Lines, ...], name: str) -> None:
        text = "".join(one.text.replace("NS0", namespace) + "\n" for one in told)
        (self.inbox / name).write_text(text, encoding="utf-8")

    def lives(self, spark: SparkSession, namespace: str) -> list[dict[str, Any]]:
        """The namespace's rows of the ledger, without what Ranger numbers."""
        from spark_sync.ledger.delta_ledger import DeltaLedger

        found = DeltaLedger(spark, self.settings.sync.state_dir, "cdap").lives(list(State))
        rows = [asdict(life) for life in found if life.entity.namespace == namespace]
        for row in rows:
            row["policy_id"] = row["policy_id"] >= 0
            del row["written"]
        return [msgspec.json.decode(msgspec.json.encode(row).decode().replace(namespace, "NS0")) for row in rows]

    def policies(self, namespace: str) -> list[Any]:
        """What stands in Ranger about the namespace."""
        return sorted(
            (
                str(policy.resources).replace(namespace, "NS0"),
                str(policy.policy_items),
                policy.version,
                policy.is_enabled,
            )
            for policy in self.ranger.policies()
            if policy.resources["namespace"].values == [namespace]
        )

    def dead_letters(self, namespace: str) -> int:
        text = (self.settings.sync.state_dir / "dead-letters.jsonl").read_text(encoding="utf-8")
        return text.count(f"garbage in {namespace}")


def run(world: World, spark: SparkSession) -> Any:
    from spark_sync.job import run_once

    return run_once(world.settings, spark, now=NOW)


@pytest.fixture(scope="module")
def world(
    spark: SparkSession, embedded: tuple[str, RangerAdmin, RangerAdmin], tmp_path_factory: pytest.TempPathFactory
) -> World:
    from spark_sync.reconcile.baseline import take_baseline

    ranger, directory = new_service(embedded), tmp_path_factory.mktemp("kills")
    inbox = directory / "inbox"
    inbox.mkdir()
    source: dict[str, Any] = {"kind": "data-plane", "path": inbox, "callers": (CALLER,)}
    settings = settings_of(ranger, directory, d=source)
    settings = msgspec.structs.replace(settings, sync=msgspec.structs.replace(settings.sync, concurrency=1))
    write_watermark(inbox, NOW)
    inventory = directory / "inventory.jsonl"
    inventory.write_text('{"v":1,"instance":"cdap","taken":"2026-11-21T04:00:00Z"}\n', encoding="utf-8")
    assert take_baseline(settings, spark, inventory, now=NOW).taken == TAKEN
    config = directory / "c.toml"
    config.write_text(
        f'[ranger]\nurl = "{ranger.url}"\nservice = "{ranger.service}"\n[cdap]\ninstance = "cdap"\n'
        f'[sync]\nusername = "sync"\npassword = "env:SYNC_PASSWORD"\nstate_dir = "{settings.sync.state_dir}"\n'
        f'concurrency = 1\n[[sync.sources]]\nname = "d"\nkind = "data-plane"\npath = "{inbox}"\n'
        f'callers = ["{CALLER}"]\n',
        encoding="utf-8",
    )
    made = World(settings, ranger, inbox, config)
    for namespace in NAMESPACES.values():
        made.deliver(namespace, BEFORE, f"{namespace}-1.jsonl")
    run(made, spark)
    made.deliver("quiet", IN_THE_RUN, "quiet-2.jsonl")
    run(made, spark)
    for name in reversed(STEPS):
        made.deliver(NAMESPACES[name], IN_THE_RUN, f"{NAMESPACES[name]}-2.jsonl")
        if name in BY_SIGNAL:
            killed_by_signal(made, name)
        else:
            killed_by_exception(made, spark, STEPS[name])
    assert run(made, spark).trouble == ""
    return made


def killed_by_signal(world: World, name: str) -> None:
    command = [sys.executable, "-m", killing.__name__, name, "--config", str(world.config), "sync", "run", "--once"]
    root = str(Path(__file__).parents[2])
    done = subprocess.run(
        command,
        env=os.environ | QUICK_JAVA | {"SYNC_PASSWORD": PASSWORD, "PYTHONPATH": root},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -9, done.stderr


def killed_by_exception(world: World, spark: SparkSession, step: Step) -> None:
    with pytest.MonkeyPatch.context() as patch:
        kill_at(step, raise_killed, patch)
        with pytest.raises(Killed):
            run(world, spark)


def test_the_history_has_every_kind_of_step(world: World, spark: SparkSession) -> None:
    lives = world.lives(spark, "quiet")
    assert [(life["entity"]["parts"][-1], life["number"], life["creator"], life["state"]) for life in lives] == [
        ("Shop", 1, "alice", "applied"),
        ("kv", 1, "alice", "closed"),
        ("kv", 2, "bob", "applied"),
        ("new1", 1, "alice", "applied"),
        ("new2", 1, "bob", "applied"),
        ("new3", 1, "public", "blocked"),
        ("stays", 1, "alice", "applied"),
    ]
    assert len(world.policies("quiet")) == 5


@pytest.mark.parametrize("name", STEPS)
def test_what_a_killed_run_left_is_finished(world: World, spark: SparkSession, name: str) -> None:
    namespace = NAMESPACES[name]
    assert world.lives(spark, namespace) == world.lives(spark, "quiet")
    assert world.policies(namespace) == world.policies("quiet")
    assert world.dead_letters(namespace) >= 1


def test_after_all_that_ledger_and_ranger_agree(world: World, spark: SparkSession) -> None:
    from spark_sync.reconcile.reconcile import reconcile

    assert reconcile(world.settings, spark).left == ()
    assert run(world, spark).wrote_nothing
