"""The commands of docs/how-to/learn-from-the-audit.md, on an audit of which the page shows the answer."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from spark_sync.cli import insights_input
from tests.authz.fixtures import document, policy
from tests.docs.markdown_pages import ROOT, blocks
from tests.spark_sync.insights.audit_fixtures import record, written
from tests.spark_sync.insights.test_replay import item

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = ROOT / "docs" / "how-to" / "learn-from-the-audit.md"
RAW = {"namespace": "ns2", "dataset": "raw"}
PURCHASES = {"namespace": "ns1", "dataset": "purchases"}


def at(day: int, hour: int) -> int:
    return int(datetime(2026, 11, day, hour, tzinfo=UTC).timestamp() * 1000)


@pytest.fixture
def directory(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The files of the page, and its commands on the session of all tests."""

    @contextmanager
    def opened(*_: Any, **__: Any) -> Iterator[SparkSession]:
        yield spark

    monkeypatch.setattr(insights_input, "spark_session", opened)
    monkeypatch.chdir(tmp_path)
    records = [
        *(record(evtTime=at(day, 9), action="write", policy=1) for day in (2, 16)),
        *(record(evtTime=at(day, 8), policy=1) for day in (2, 16)),
        *(
            record(reqUser="dave", evtTime=at(day, 10), resource="cdap/ns2/raw", result=0, policy=-1)
            for day in (3, 4, 10, 17)
        ),
    ]
    Path("audit").mkdir()
    Path("audit/records.jsonl").write_bytes(written(records))
    before = [policy(1, PURCHASES, ["alice"], ["read", "write"])]
    after = [
        policy(1, PURCHASES, ["alice"], ["read"]),
        policy(2, RAW, [], [], policyItems=[item(["read"], groups=["etl"])]),
    ]
    for name, policies in (("current", before), ("new", after)):
        Path(f"{name}.json").write_bytes(msgspec.json.encode(document(policies)))
    store = {"userStoreVersion": 1, "userGroupMapping": {"alice": [], "dave": ["etl"]}, "userAttrMapping": {}}
    Path("users.json").write_text(json.dumps(store))
    return tmp_path


def commands() -> list[list[str]]:
    lines = [line for block in blocks(PAGE, "sh") for line in block.text.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("ranger-cdap ")]


@pytest.mark.spark
def test_the_commands_of_the_page_run_and_the_first_answers_as_it_shows(
    directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = [line.rstrip() for line in blocks(PAGE, "text")[0].text.splitlines()]
    for number, argv in enumerate(commands()):
        assert main(argv) == ExitCode.OK
        if number == 0:
            assert capsys.readouterr().out.splitlines()[: len(shown)] == shown
    assert (directory / "least").is_dir()
    assert "decided otherwise: none" in capsys.readouterr().out, "the proposal allows what was used"


@pytest.mark.spark
def test_the_page_names_every_table(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["insights", "report", "audit", "--policies", "current.json", "--json"]) == ExitCode.OK
    answer = json.loads(capsys.readouterr().out)
    section = PAGE.read_text(encoding="utf-8").split("## What is not used")[1].split("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE))
    assert named == {*answer} - {
        *("service", "time", "period", "records", "lines", "files", "accesses", "users"),
        *("users_without_known_groups", "not_replayed"),
    }
