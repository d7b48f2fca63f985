"""The base install: the plugin loads without PySpark, and its commands say in one sentence what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import sys
sys.modules["pyspark"] = sys.modules["delta"] = None
from pathlib import Path
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.errors import SparkMissing
from spark_sync.cli.sync import sync
try:
    sync.main(sys.argv[1:], obj=Invocation(), standalone_mode=False)
except SparkMissing as e:
    print(e)
"""


@pytest.mark.parametrize("arguments", [["run"], ["status"], ["baseline", "--inventory", "x"]], ids=" ".join)
def test_a_command_without_pyspark(arguments: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "the sync job needs PySpark; install it with `pip install 'ranger-cdap[spark]'`\n"


SOURCES = """
import sys
from pathlib import Path
from ranger_cdap.config import Settings, SourceSettings, SyncSettings
from spark_sync.ingest.file_reading import read_lines
from spark_sync.sources.file_log import FileLog
from spark_sync.sources.registry import configured_sources, packages, ranks
from spark_sync.sources.regular_files import list_files
settings = Settings(sync=SyncSettings(sources=(SourceSettings(name="s", kind="audit", path=Path(sys.argv[1])),)))
((configured, source),) = configured_sources(settings)
ranks(settings.sync.sources), packages(settings.sync.sources)
log = FileLog(Path(sys.argv[1]) / "checkpoints" / "s")
found = read_lines(log.unread(list_files(configured)), source.reader, configured, "cdap", 1)
log.add(found.files)
print(found.lines, [name for name in ("pyspark", "pyarrow", "pandas") if name in sys.modules])
"""


def test_few_files_are_read_without_pyspark(tmp_path: Path) -> None:
    (tmp_path / "1.jsonl").write_text("{}\n{}\n")
    done = subprocess.run([sys.executable, "-c", SOURCES, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == "2 []\n"
