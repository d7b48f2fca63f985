"""Runs that are killed, at every step, and one that is not, end where runs end that nobody killed: ledger and Ranger.

Each step has its namespace in one ledger, with the same history: things are made in a run before, and one of them is
deleted and made again by somebody else, with some new ones, in the run that is killed. The latest step comes first, so
that none of the next runs finishes what it left, until the last one does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec
import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import Settings
from spark_sync.ledger.life import State
from spark_sync.report import RunReport
from tests.short_lived_java import QUICK_JAVA
from tests.spark_sync import killing
from tests.spark_sync.conftest import PASSWORD, WITHOUT_SPARK, Ranger, new_service, settings_of
from tests.spark_sync.killing import ALL, MAINTENANCE, ON_SPARK, STEPS
from tests.spark_sync.recorded_lines import CALLER, TAKEN, Lines, created, deleted, write_watermark

if TYPE_CHECKING:
    from ranger_cdap.ranger.client.ranger_admin import RangerAdmin

pytestmark = pytest.mark.kills

NOW = 1_900_000_000_000
QUIET: Final = "quiet"
ROOT: Final = Path(__file__).parents[2]

PLAYS: Final[Mapping[str, tuple[str, ...]]] = {"without Spark": tuple(STEPS), "on Spark": (ON_SPARK,)}


def marks_of(play: str) -> tuple[pytest.MarkDecorator, ...]:
    return (pytest.mark.spark,) if play == "on Spark" else ()


EACH_WORLD: Final = [pytest.param(play, id=play, marks=marks_of(play)) for play in PLAYS]
EACH_STEP: Final = [
    pytest.param(play, step, id=f"{play}: {step}", marks=marks_of(play)) for play in PLAYS for step in PLAYS[play]
]


def namespace_of(step: str) -> str:
    return f"killed{list(ALL).index(step)}"


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

    def run(self) -> RunReport:
        from spark_sync.job import run_once

        return run_once(self.settings, WITHOUT_SPARK.spark, now=NOW)

    def lives(self, namespace: str) -> list[dict[str, Any]]:
        """The namespace's rows of the ledger, without what Ranger numbers."""
        from spark_sync.ledger.delta_ledger import DeltaLedger

        found = DeltaLedger(self.settings.sync.state_dir, "cdap").lives(list(State))
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

    def maintained_at(self, time: int) -> None:
        from spark_sync.ledger.delta_ledger import DeltaLedger

        DeltaLedger(self.settings.sync.state_dir, "cdap").notes.write("maintained", time)


def new_world(ranger: Ranger, directory: Path) -> World:
    from spark_sync.reconcile.baseline import take_baseline

    inbox = directory / "inbox"
    inbox.mkdir()
    source: dict[str, Any] = {"kind": "data-plane", "path": inbox, "callers": (CALLER,)}
    settings = settings_of(ranger, directory, d=source)
    write_watermark(inbox, NOW)
    inventory = directory / "inventory.jsonl"
    inventory.write_text('{"v":1,"instance":"cdap","taken":"2026-11-21T04:00:00Z"}\n', encoding="utf-8")
    assert take_baseline(settings, inventory, now=NOW).taken == TAKEN
    config = directory / "c.toml"
    config.write_text(
        f'[ranger]\nurl = "{ranger.url}"\nservice = "{ranger.service}"\n[cdap]\ninstance = "cdap"\n'
        f'[sync]\nusername = "sync"\npassword = "env:SYNC_PASSWORD"\nstate_dir = "{settings.sync.state_dir}"\n'
        f'[[sync.sources]]\nname = "d"\nkind = "data-plane"\npath = "{inbox}"\n'
        f'callers = ["{CALLER}"]\n',
        encoding="utf-8",
    )
    return World(settings, ranger, inbox, config)


def killers(world: World, *step: str) -> subprocess.Popen[str]:
    """The program that kills its runs."""
    return subprocess.Popen(
        [sys.executable, "-m", killing.__name__, str(world.config), str(NOW), *step],
        env=os.environ | QUICK_JAVA | {"SYNC_PASSWORD": PASSWORD, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.fixture(scope="module")
def world(
    request: pytest.FixtureRequest,
    embedded: tuple[str, RangerAdmin, RangerAdmin],
    tmp_path_factory: pytest.TempPathFactory,
) -> World:
    """The world in which a play was given."""
    name: str = request.param
    made = new_world(new_service(embedded), tmp_path_factory.mktemp("kills"))
    namespaces = {step: namespace_of(step) for step in reversed(PLAYS[name])}
    for namespace in (QUIET, *namespaces.values()):
        made.deliver(namespace, BEFORE, f"{namespace}-1.jsonl")
    made.run()
    made.deliver(QUIET, IN_THE_RUN, f"{QUIET}-2.jsonl")
    made.run()
    with nullcontext() if ON_SPARK in namespaces else killers(made) as program:
        for step, namespace in namespaces.items():
            made.deliver(namespace, IN_THE_RUN, f"{namespace}-2.jsonl")
            made.maintained_at(0 if step in MAINTENANCE else NOW)
            if program:
                killed_without_spark(program, step)
            else:
                killed_on_spark(made, step)
    made.maintained_at(NOW)
    assert made.run().trouble == ""
    return made


def killed_without_spark(program: subprocess.Popen[str], step: str) -> None:
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(f"{step}\n")
    program.stdin.flush()
    assert program.stdout.readline() == f"{-signal.SIGKILL}\n", step


def killed_on_spark(world: World, step: str) -> None:
    with killers(world, step) as program:
        _, told = program.communicate()
        assert program.returncode == -signal.SIGKILL, told


@pytest.mark.parametrize("world", EACH_WORLD, indirect=True, scope="module")
def test_the_history_has_every_kind_of_step(world: World) -> None:
    lives = world.lives(QUIET)
    assert [(life["entity"]["parts"][-1], life["number"], life["creator"], life["state"]) for life in lives] == [
        ("Shop", 1, "alice", "applied"),
        ("kv", 1, "alice", "closed"),
        ("kv", 2, "bob", "applied"),
        ("new1", 1, "alice", "applied"),
        ("new2", 1, "bob", "applied"),
        ("new3", 1, "public", "blocked"),
        ("stays", 1, "alice", "applied"),
    ]
    assert len(world.policies(QUIET)) == 5


@pytest.mark.parametrize(("world", "step"), EACH_STEP, indirect=["world"], scope="module")
def test_what_a_killed_run_left_is_finished(world: World, step: str) -> None:
    namespace = namespace_of(step)
    assert world.lives(namespace) == world.lives(QUIET)
    assert world.policies(namespace) == world.policies(QUIET)
    assert world.dead_letters(namespace) >= 1


@pytest.mark.parametrize("world", EACH_WORLD, indirect=True, scope="module")
def test_after_all_that_ledger_and_ranger_agree(world: World) -> None:
    from spark_sync.reconcile.reconcile import reconcile

    assert reconcile(world.settings).left == ()
    assert world.run().wrote_nothing
