"""Installed without the ledger's packages, the job says which; without PySpark, runs of few events work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import sys
sys.modules["deltalake"] = None
from pathlib import Path
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.errors import SyncMissing
from spark_sync.cli.sync import sync
try:
    sync.main(sys.argv[1:], obj=Invocation(), standalone_mode=False)
except SyncMissing as e:
    print(e)
"""


@pytest.mark.parametrize("arguments", [["run"], ["status"], ["baseline", "--inventory", "x"]], ids=" ".join)
def test_a_command_without_the_ledger(arguments: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "the sync job needs an extra; install it with `pip install 'ranger-cdap[sync]'`\n"


RUN = """
import sys
from pathlib import Path
sys.modules["pyspark"] = sys.modules["py4j"] = None
from ranger_cdap.config import Settings, SourceSettings, SyncSettings
from spark_sync.ingest.ingestion import Ingestion
from spark_sync.ledger.delta_ledger import DeltaLedger
from spark_sync.sources.registry import configured_sources
from spark_sync.spark.on_demand import FEW
home = Path(sys.argv[1])
source = SourceSettings(name="s", kind="audit", path=home / "inbox")
settings = Settings(sync=SyncSettings(state_dir=home / "state", sources=(source,)))
((configured, source),) = configured_sources(settings.sync)
ingestion = Ingestion(settings.network, DeltaLedger(home / "state", "cdap"), None, {}, 1, FEW, str)
print(ingestion.read(configured, source).lines)
"""


def test_few_files_are_read_without_pyspark(tmp_path: Path) -> None:
    (tmp_path / "inbox").mkdir()
    (tmp_path / "inbox" / "1.jsonl").write_text("{}\n{}\n")
    done = subprocess.run([sys.executable, "-c", RUN, str(tmp_path)], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("2\n", "")
