"""How a ledger moves, as the page says it: its commands, typed."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Final

import pytest
from msgspec.structs import replace

from ranger_cdap.config import StoreUrl
from spark_sync.status import status
from tests.cluster.servers import JARS, Hdfs
from tests.differential.java_engine import java_command
from tests.spark_sync.conftest import PASSWORD, Ranger, settings_of
from tests.spark_sync.test_job import FIRST, NOW, RECORDING, run, source, take_baseline

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs/how-to/run-on-a-cluster.md"


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
    said = re.sub(r"[0-9:]+ ago", "ago", done.stdout)
    assert said[: len(said) // 2] == said[len(said) // 2 :] != ""
