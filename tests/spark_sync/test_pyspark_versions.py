"""A ledger that two versions of PySpark write in turns, forward and back; `make test-oldest-spark` has both."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.recording import RECORDING
from tests.short_lived_java import QUICK_JAVA
from tests.spark_sync.conftest import PASSWORD, Ranger
from tests.spark_sync.recorded_lines import CALLER
from tests.spark_sync.test_job import FIRST, OTHERS, SECOND, by_values
from tests.spark_sync.test_submitted import write_many

OTHER = os.environ.get("RANGER_CDAP_OTHER_SPARK")
ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(OTHER is None, reason="needs RANGER_CDAP_OTHER_SPARK, which `make test-oldest-spark` sets"),
]


def run(python: str, config: Path, *command: str) -> Any:
    """What a command in the environment of `python` reports."""
    environment = os.environ | QUICK_JAVA | {"PYTHONPATH": str(ROOT), "SYNC_PASSWORD": PASSWORD}
    done = subprocess.run(
        [python, "-P", "-m", "ranger_cdap", "--config", config, "--json", "sync", *command],
        env=environment | {"PYSPARK_PYTHON": python},
        cwd=config.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("oldest_first", [False, True])
def test_either_goes_on_where_the_other_ended(ranger: Ranger, tmp_path: Path, oldest_first: bool) -> None:
    assert OTHER is not None
    pythons = [sys.executable, OTHER] if oldest_first else [OTHER, sys.executable]
    config = tmp_path / "c.toml"
    sources = ""
    for kind in ("audit", "data-plane"):
        inbox = tmp_path / kind
        inbox.mkdir()
        sources += f'[[sync.sources]]\nname = "{kind}"\nkind = "{kind}"\npath = "{inbox}"\ncallers = ["{CALLER}"]\n'
    config.write_text(
        f'[ranger]\nurl = "{ranger.url}"\nservice = "{ranger.service}"\n[cdap]\ninstance = "cdap"\n'
        f'[sync]\nusername = "sync"\npassword = "env:SYNC_PASSWORD"\nstate_dir = "{tmp_path / "state"}"\n{sources}',
        encoding="utf-8",
    )
    run(pythons[0], config, "baseline", "--inventory", str(RECORDING / "baseline.jsonl"))
    for python, name in zip(pythons, (FIRST, SECOND), strict=True):
        for kind in ("audit", "data-plane"):
            shutil.copy(RECORDING / "events" / kind / name, tmp_path / kind)
        write_many(tmp_path / "audit", f"many-{name}")
        report = run(python, config, "run")
        assert (report["trouble"], report["waiting"]) == ("", [])

    assert by_values(ranger.grants()) == by_values(OTHERS)
    for python in pythons:
        report = run(python, config, "run")
        assert [source["events"] for source in report["sources"]] == [0, 0]
        assert (report["trouble"], report["granted"], report["revoked"]) == ("", [], [])
