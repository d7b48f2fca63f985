"""Commands of the page on clusters, typed: how Spark is submitted, and how a ledger moves."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from ranger_cdap.config import StoreUrl
from spark_sync.status import status
from tests.cluster.servers import JARS, Hdfs
from tests.cluster.spark_clusters import A_RUN, LOOPBACK, ROOT, SPARK
from tests.cluster.test_submitted_runs import Place, many, place  # noqa: F401  (fixtures)
from tests.differential.java_engine import java_command
from tests.docs.markdown_pages import blocks
from tests.short_lived_java import QUICK_JAVA
from tests.spark_sync.conftest import PASSWORD, Ranger, settings_of
from tests.spark_sync.test_job import FIRST, NOW, RECORDING, run, source, take_baseline

PAGE: Final = ROOT / "docs/how-to/run-on-a-cluster.md"
ARCHIVE: Final = ROOT / "dist" / "bundle" / "ranger-cdap.tar.gz"
OF_THE_TREE: Final = re.compile(r"PYTHONPATH|PYSPARK_PYTHON|pyspark\.python")


def submitted(on: Place, command: str, properties: str, **variables: str) -> None:
    """Type a command beside the files that it names, in a shell that knows PySpark and nothing of this tree."""
    at = on.directory
    (at / "c.toml").rename(at / "ranger-cdap.toml")
    for name in ("dist", "examples"):
        (at / name).symlink_to(ROOT / name)
    others = {name: one for name, one in on.cluster.settings.items() if not OF_THE_TREE.search(name)}
    lines = "".join(f"{name} {value}\n" for name, value in others.items() if f"{name} " not in properties)
    (at / "spark.properties").write_text(properties + lines)
    (at / "spark.properties").chmod(0o600)
    environment = os.environ | LOOPBACK | QUICK_JAVA | on.cluster.environment | variables
    environment["PATH"] = f"{SPARK / 'bin'}:{environment['PATH']}"
    done = subprocess.run(
        ["sh", "-euc", command], env=environment, cwd=at, text=True, check=False, timeout=A_RUN,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:]


def commands_of(title: str) -> list[str]:
    return [block.text for block in blocks(PAGE, "sh") if title in block.text]


def properties_of(name: str) -> str:
    (found,) = (block.text for block in blocks(PAGE, "text") if name in block.text)
    return found


@pytest.mark.cluster
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["yarn"], indirect=True)
def test_the_archive_of_make_bundle_on_yarn(place: Place, ranger: Ranger) -> None:  # noqa: F811
    if not ARCHIVE.is_file():
        pytest.skip("needs `make bundle`")
    bare = ["python3.11", "-Ic", "import ranger_cdap"]
    assert subprocess.run(bare, cwd="/", capture_output=True, check=False).returncode == 1
    (command,) = commands_of("--archives")
    submitted(place, command, properties_of("spark.authenticate") + properties_of("spark.executorEnv.PYTHONPATH"))
    place.ends_with(ranger)


@pytest.mark.cluster
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["standalone"], indirect=True)
def test_the_command_in_client_mode(many: Place, ranger: Ranger) -> None:  # noqa: F811
    (command,) = (one for one in commands_of("spark-submit") if "--archives" not in one)
    properties = f"{properties_of('spark.authenticate')}spark.master {many.cluster.master}\n"
    submitted(
        many,
        command.replace("/etc/ranger-cdap/", ""),
        properties,
        PYTHONPATH=str(ROOT),
        PYSPARK_PYTHON=sys.executable,
    )
    many.ends_with(ranger)


@pytest.mark.cluster
def test_the_section_about_moving_a_ledger(hdfs: Hdfs, ranger: Ranger, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / FIRST).write_bytes((RECORDING / "events" / "data-plane" / FIRST).read_bytes())
    settings = settings_of(ranger, tmp_path, records=source(tmp_path / "events"))
    take_baseline(settings)
    assert run(settings).granted
    before = status(settings, now=NOW)

    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "hadoop").write_text(
        f'#!/bin/sh\nshift\nexec {java_command()} -cp "{programs}:{JARS}/*" org.apache.hadoop.fs.FsShell "$@"\n'
    )
    (programs / "hadoop").chmod(0o755)
    (programs / "core-site.xml").write_text("<configuration/>")
    (config := tmp_path / "ranger-cdap.toml").write_text(
        f'[ranger]\nurl = "{ranger.url}"\nservice = "{ranger.service}"\n[cdap]\ninstance = "cdap"\n'
        f'[sync]\nusername = "sync"\npassword = "{PASSWORD}"\nstate_dir = "{settings.sync.state_dir}"\n'
        f'[[sync.sources]]\nname = "records"\nkind = "data-plane"\npath = "{tmp_path / "events"}"\n'
        'callers = ["cdap-master"]\n'
    )
    config.chmod(0o600)
    section = PAGE.read_text(encoding="utf-8").partition("## Move a ledger")[2]
    typed = section.partition("```sh\n")[2].partition("```")[0].replace("hdfs://namenode:8020", hdfs.root)
    environment = os.environ | {
        "PATH": f"{programs}:{ROOT / '.venv' / 'bin'}:{os.environ['PATH']}",
        "STATE_DIR": str(settings.sync.state_dir),
        "RANGER_CDAP_CONFIG": str(config),
    }
    done = subprocess.run(
        ["sh", "-euc", typed], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    moved = replace(settings, sync=replace(settings.sync, state_dir=StoreUrl(hdfs.root, "ranger-cdap/sync")))
    assert status(moved, now=NOW) == before
    assert run(moved).wrote_nothing
    said = re.sub(r".* WARN .*\n", "", re.sub(r"[0-9:]+ ago", "ago", done.stdout))  # of Hadoop's own
    assert said[: len(said) // 2] == said[len(said) // 2 :] != ""
