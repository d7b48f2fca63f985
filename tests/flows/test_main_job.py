"""The main job on real events, without Spark and on it: what the demo tells, and the deletions at the end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ranger_cdap.ranger_model.policy import Policy
from spark_sync.demo import COLLEAGUE, CREATOR, DATASET, SERVICE, DemoEnvironment, open_demo, run_demo
from spark_sync.report import RunReport
from tests.spark_sync.conftest import WITHOUT_SPARK, Way, on_spark


@pytest.fixture(
    params=[pytest.param(False, id="without Spark"), pytest.param(True, id="on Spark", marks=pytest.mark.spark)]
)
def way(request: pytest.FixtureRequest) -> Way:
    return on_spark(request.getfixturevalue("spark")) if request.param else WITHOUT_SPARK


PATH = ("instance", "namespace", "application", "artifact", "dataset", "program")


def values(policy: Policy) -> tuple[str, ...]:
    """The names from the instance down; Ranger keeps no order of levels."""
    return tuple(policy.resources[level].values[0] for level in PATH if level in policy.resources)


def policies_within(environment: DemoEnvironment, namespace: str) -> list[Policy]:
    return [policy for policy in environment.admin.list_policies(SERVICE) if namespace in values(policy)]


def test_creations_become_grants_and_the_deletions_take_them_back(way: Way, tmp_path: Path) -> None:
    with open_demo(tmp_path) as environment:
        said: list[str] = []
        shown: list[RunReport] = []

        assert run_demo(environment, way.spark, said.append, shown.append, way.few) == []

        granted = {str(life.entity): life.creator for life in shown[0].granted}
        assert granted[str(DATASET)] == CREATOR
        assert granted["namespace:ns1"] == CREATOR
        assert granted["application:ns1.ProbeApp"] == CREATOR
        assert COLLEAGUE not in granted.values()
        # Created by the impersonated user, whom this Ranger does not know.
        assert {life.creator for life in shown[0].waiting} == {"svc"}
        # Dropped before the end of the first part, or never really created.
        assert not {"dataset:ns1.ds1", "namespace:nsb", "dataset_module:ns1.probemod"} & set(granted)
        assert policies_within(environment, "ns1")

        environment.deliver("2-from-the-deletions")
        report = environment.run_sync(way.spark, few=way.few)

        assert "dataset:ns1.kv" in {str(life.entity) for life in report.revoked}
        assert policies_within(environment, "ns1") == []
        assert not environment.may_read(CREATOR).allowed
        # What was not deleted keeps its grant.
        assert {str(life.entity) for life in shown[0].granted if life.entity.namespace == "ns2"} == {
            f"{next(iter(set(policy.resources) - {'instance', 'namespace', 'program'}), 'namespace')}:"
            + ".".join(v for v in values(policy)[1:] if v != "*")
            for policy in policies_within(environment, "ns2")
        }


def test_every_grant_is_one_policy_for_one_user_on_one_entity(way: Way, tmp_path: Path) -> None:
    with open_demo(tmp_path) as environment:
        before = {policy.id for policy in environment.admin.list_policies(SERVICE)}
        environment.take_baseline()
        environment.deliver("1-until-the-deletions")
        report = environment.run_sync(way.spark, few=way.few)

        ours = [policy for policy in environment.admin.list_policies(SERVICE) if policy.id not in before]
        assert len(ours) == len(report.granted) > 0
        for policy in ours:
            (item,) = policy.policy_items
            assert len(item.users) == 1
            assert [item.groups, item.roles, item.delegate_admin] == [[], [], False]
            assert [policy.deny_policy_items, policy.allow_exceptions, policy.deny_exceptions] == [[], [], []]
            assert {access.type for access in item.accesses} == {"read", "write", "admin", "execute"}
            for level, resource in policy.resources.items():
                (value,) = resource.values
                assert value == "*" if level == "program" else "*" not in value


def processes_with(marker: str) -> list[str]:
    """The commands of running processes that have the marker in their environment."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdigit() and marker.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes()[:200].decode(errors="replace"))
        except OSError:
            continue
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("number", "said"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
@pytest.mark.parametrize("moment", ["Starting", "Ranger has service", "Sync: "])
def test_a_signal_ends_the_demo_at_once_and_leaves_nothing(
    moment: str, number: signal.Signals, said: str, tmp_path: Path
) -> None:
    # As from a terminal: what a shell starts in the background ignores interrupts.
    interruptible = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = [sys.executable, "-c", f"{interruptible}; from ranger_cdap.__main__ import run; run()", "demo"]
    with subprocess.Popen(
        command,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line.startswith(moment):
                break
        assert not any("java" in command for command in processes_with(f"TMPDIR={tmp_path}"))
        os.killpg(process.pid, number)
        _, errors = process.communicate(timeout=60)

    assert process.returncode == 128 + number
    assert "Traceback" not in errors
    assert "Exception" not in errors
    assert said in errors
    assert not list(tmp_path.glob("ranger-cdap-demo-*"))
    assert processes_with(f"TMPDIR={tmp_path}") == []
