"""The base install: the plugin loads without PySpark, and its commands say in one sentence what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ranger_cdap.errors import SparkMissing
from spark_sync.session import JARS, PACKAGE, spark_jars

WITHOUT = """
import sys
sys.modules["pyspark"] = sys.modules["delta"] = None
from pathlib import Path
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.errors import SparkMissing
from spark_sync.plugin import sync
try:
    sync.main(sys.argv[1:], obj=Invocation(), standalone_mode=False)
except SparkMissing as e:
    print(e)
"""


@pytest.mark.parametrize("arguments", [["run"], ["status"], ["baseline", "--from", "x"]], ids=" ".join)
def test_a_command_without_pyspark(arguments: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "the sync job needs PySpark; install it with `pip install 'ranger-cdap[spark]'`\n"


def test_configured_jars_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(SparkMissing, match=r"sync\.jars_dir"):
        spark_jars(tmp_path)


def test_without_jars_beside_the_interpreter_spark_fetches_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    assert spark_jars(None) == {"spark.jars.packages": PACKAGE}


def test_what_a_source_needs_is_fetched_beside_deltas_jars(tmp_path: Path) -> None:
    for name in JARS:
        (tmp_path / name).touch()
    assert spark_jars(tmp_path, ["org.example:connector:1.0"]) == {
        "spark.jars": ",".join(str(tmp_path / name) for name in JARS),
        "spark.jars.packages": "org.example:connector:1.0",
    }


def test_a_directory_that_has_what_a_source_needs_is_used_whole(tmp_path: Path) -> None:
    for name in (*JARS, "connector-1.0.jar", "below-it-2.0.jar"):
        (tmp_path / name).touch()
    given = spark_jars(tmp_path, ["org.example:connector:1.0"])
    assert list(given) == ["spark.jars"]
    assert {Path(jar).name for jar in given["spark.jars"].split(",")} == {
        *JARS,
        "connector-1.0.jar",
        "below-it-2.0.jar",
    }
