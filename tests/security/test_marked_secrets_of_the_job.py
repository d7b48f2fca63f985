"""What the sync job keeps (tables, checkpoints, dead letters) and logs holds no password and no marker."""

from __future__ import annotations

from dataclasses import replace as replaced
from pathlib import Path

import msgspec
import pytest

from ranger_cdap.config import Secret, SourceSettings
from spark_sync.demo import open_demo
from spark_sync.ledger.ledger_tables import LedgerTables
from tests.spark_sync.conftest import without_spark

MARKER = "marked7markerOfTheAccessLog"
LINE = (
    '10.1.2.3 - alice [21/Nov/2025:04:17:53 +0000] "PUT /v3/namespaces/ns9 HTTP/1.1" - {"secret":"in-a-body"} 200 46 -'
)
LINES = [
    f"{MARKER} {LINE} {MARKER}",
    f"{MARKER} {LINE}",
    f"{MARKER} nothing that is a line of the log {MARKER}",
    LINE.replace("HTTP/1.1", f"HTTP/1.1 {MARKER}"),
]


def test_what_the_job_keeps_and_says_holds_no_secret(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    log = tmp_path / "log"
    log.mkdir()
    (log / "access.log").write_text("\n".join(LINES) + "\n")
    kept = tmp_path / "kept"
    kept.mkdir()
    with open_demo(kept) as stage:
        router = SourceSettings(name="router", kind="http-access", path=log, marker=Secret(MARKER))
        sync = msgspec.structs.replace(stage.settings.sync, sources=(router,))
        stage = replaced(stage, settings=msgspec.structs.replace(stage.settings, sync=sync))
        report = stage.run_sync(without_spark)
        password = sync.password.reveal()

    (read,) = report.sources
    assert (read.lines, read.rejected, read.events) == (4, 3, 1)
    state = kept / "ledger"
    places = {str(path.relative_to(kept)): path.read_bytes() for path in kept.rglob("*") if path.is_file()}
    tables = LedgerTables(state)
    for table in ("events", "changes"):  # what their files hold is compressed
        rows = list(tables.query(f"SELECT * FROM {table}"))
        assert "ns9" in str(rows)
        places[f"table {table}"] = str(rows).encode()
    assert any("dead-letters" in name for name in places)
    said = "".join(capfd.readouterr()) + caplog.text
    for secret in (MARKER, password, "in-a-body"):
        assert [name for name, content in places.items() if secret.encode() in content] == []
        assert secret not in said
