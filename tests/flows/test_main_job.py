"""The story of the demo, without Spark and on it; what to try afterwards; and its end at any moment."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from spark_sync.cli.demo import TRY
from spark_sync.demo import CREATOR, SERVICE, open_demo, run_demo, write_settings
from tests.spark_sync.conftest import WITHOUT_SPARK, Way, on_spark, without_spark


@pytest.fixture(
    params=[pytest.param(False, id="without Spark"), pytest.param(True, id="on Spark", marks=pytest.mark.spark)]
)
def way(request: pytest.FixtureRequest) -> Way:
    return on_spark(request.getfixturevalue("spark")) if request.param else WITHOUT_SPARK


def test_the_story_comes_true(way: Way, tmp_path: Path) -> None:
    with open_demo(tmp_path) as environment:
        before = {policy.id for policy in environment.admin.list_policies(SERVICE)}
        said: list[str] = []
        assert run_demo(environment, way.spark, said.append, way.few) == []

        granted = [policy for policy in environment.admin.list_policies(SERVICE) if policy.id not in before]
        values = [{level: resource.values for level, resource in policy.resources.items()} for policy in granted]
        sales = {"instance": ["cdap"], "namespace": ["sales"]}
        assert sorted(values, key=len) == [sales, sales | {"application": ["PurchaseHistory"], "program": ["*"]}]
        for policy in granted:
            (item,) = policy.policy_items
            assert (item.users, item.groups, item.roles, item.delegate_admin) == ([CREATOR], [], [], False)
            assert {access.type for access in item.accesses} == {"read", "write", "admin", "execute"}
        assert [line for line in said if line.startswith("  NO")] == []
        assert len("\n".join(said).splitlines()) <= 25
        assert max(map(len, said)) <= 100


def test_what_is_there_to_try_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (home := tmp_path / "demo").mkdir()
    with open_demo(home) as environment:
        assert run_demo(environment, without_spark, lambda _: None) == []
        told = TRY.format(write_settings(environment))
        codes = {}
        for line in told.splitlines():
            match line.split():
                case ["export", setting]:
                    monkeypatch.setenv(*setting.split("=", 1))
                case ["ranger-cdap", *words]:
                    codes[" ".join(words)] = main(words)
    said = capsys.readouterr()
    assert codes == {line: ExitCode.NO if line.startswith("check bob") else ExitCode.OK for line in codes}, said.err
    assert len(codes) == 4
    assert "alice" in said.out
    assert stat.S_IMODE((home / "password").stat().st_mode) == 0o600


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
@pytest.mark.parametrize("moment", ["Starting", "Ranger has", "  granted"])
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
