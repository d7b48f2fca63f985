"""`sync run` where Spark is not ours: `spark-submit` of `examples/submit.py`, with a wheel's content, on a cluster."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ranger_cdap.config import Settings
from spark_sync.spark.on_demand import ON_A_CLUSTER
from spark_sync.spark.spark_security import CLOSED, fresh_secret
from tests.recording import RECORDING
from tests.short_lived_java import QUICK_JAVA
from tests.spark_sync.conftest import PASSWORD, Ranger
from tests.spark_sync.recorded_lines import CALLER
from tests.spark_sync.test_job import NOW, OTHERS, by_values
from tests.spark_sync.test_many_lines import message

ROOT = Path(__file__).parents[2]
PACKAGE = ("ranger_cdap", "servicedef", "spark_sync", "setup.cfg", "pyproject.toml", "README.md", "LICENSE", "NOTICE")
MASTER = "local-cluster[2,1,1024]"

Submitted = Callable[[Mapping[str, str]], "subprocess.CompletedProcess[str]"]

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a wheel of this project holds, unpacked; away from the sources."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("installed")
    for name in PACKAGE:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source / name)
    setup = "import setuptools; setuptools.setup()"
    subprocess.run([sys.executable, "-c", setup, "-q", "build_py", "--build-lib", str(target)], cwd=source, check=True)
    return target


MANY = ON_A_CLUSTER.events + 1_000
"""Deletions of what never existed: so many, in so long lines, that executors read the lines and fold the events."""


def write_many(inbox: Path, name: str = "many.jsonl") -> None:
    lines = [message(n // 100, n, "DELETE").ljust(ON_A_CLUSTER.bytes // ON_A_CLUSTER.events) for n in range(MANY)]
    (inbox / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert (inbox / name).stat().st_size > ON_A_CLUSTER.bytes


@pytest.fixture
def config(ranger: Ranger, tmp_path: Path) -> Path:
    """The recordings as two sources, with many lines more."""
    shutil.copytree(RECORDING / "events", tmp_path / "events")
    write_many(tmp_path / "events" / "audit")
    path = tmp_path / "c.toml"
    sources = "".join(
        f'[[sync.sources]]\nname = "{kind}"\nkind = "{kind}"\npath = "{tmp_path / "events" / kind}"\n'
        f'callers = ["{CALLER}"]\n'
        for kind in ("audit", "data-plane")
    )
    path.write_text(
        f'[ranger]\nurl = "{ranger.url}"\nservice = "{ranger.service}"\n[cdap]\ninstance = "cdap"\n'
        f'[sync]\nusername = "sync"\npassword = "env:SYNC_PASSWORD"\nstate_dir = "{tmp_path / "state"}"\n{sources}',
        encoding="utf-8",
    )
    return path


@pytest.fixture
def submitted(installed: Path, config: Path) -> Submitted:
    """`spark-submit` of `ranger-cdap sync run`, with what is in `config`, and settings of Spark in a file."""
    environment = (
        os.environ
        | QUICK_JAVA
        | {
            "PYTHONPATH": str(installed),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SYNC_PASSWORD": PASSWORD,
        }
    )
    where = "import ranger_cdap, spark_sync; print(ranger_cdap.__file__, spark_sync.__file__)"
    found = subprocess.run([sys.executable, "-c", where], capture_output=True, check=True, cwd="/", env=environment)
    assert found.stdout.count(bytes(installed)) == 2
    programs = Path(sys.executable).parent

    def submit(settings: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        properties = config.with_name("spark.properties")
        properties.write_text("".join(f"{name} {value}\n" for name, value in settings.items()), encoding="utf-8")
        properties.chmod(0o600)
        options = ("--master", MASTER, "--properties-file", properties, ROOT / "examples" / "submit.py")
        command = (programs / "spark-submit", *options, "--config", config, "--json", "sync", "run")
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=config.parent, env=environment)

    return submit


def test_a_run_on_a_closed_cluster_grants_what_the_recordings_tell(
    ranger: Ranger, submitted: Submitted, settings_for: Callable[..., Settings]
) -> None:
    from spark_sync.reconcile.baseline import take_baseline

    take_baseline(settings_for(), RECORDING / "baseline.jsonl", now=NOW)
    secret = fresh_secret()
    done = submitted(CLOSED | secret)
    assert done.returncode == 0, done.stderr
    for hidden in (PASSWORD, *secret.values()):
        assert hidden not in done.stderr + done.stdout
    report = json.loads(done.stdout[done.stdout.index("{\n") :])
    assert (report["trouble"], report["waiting"]) == ("", [])
    assert {source["name"]: source["events"] > ON_A_CLUSTER.events for source in report["sources"]}["audit"]
    assert len(report["granted"]) == len(OTHERS)
    assert by_values(ranger.grants()) == by_values(OTHERS)


def test_a_run_on_an_open_cluster_is_refused(ranger: Ranger, submitted: Submitted) -> None:
    done = submitted({"spark.ui.enabled": "false"})
    assert done.returncode == 3, done.stderr
    assert "Spark is open to others: `spark.authenticate` is not true; " in done.stdout
    assert ranger.grants() == {}
