"""Audit: Ranger's field names, sinks that fail, records that try to forge others."""

import json
import logging
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from ranger_cdap.audit import BUILT_IN_SINKS, AuditRecord, AuditTrail, FileSink, LogSink, open_trail
from ranger_cdap.config import AuditSettings
from ranger_cdap.errors import ConfigError


def record(user: str = "alice", resource: str = "cdap/ns1/kv") -> AuditRecord:
    return AuditRecord(
        repo="cdapdev",
        reqUser=user,
        evtTime=1,
        access="dataset.get",
        resource=resource,
        resType="dataset",
        action="read",
        result=1,
        policy=7,
        policyVersion=2,
    )


class Broken:
    """A sink whose store is away until told otherwise."""

    def __init__(self) -> None:
        self.away = True
        self.taken: list[AuditRecord] = []

    def write(self, records: Sequence[AuditRecord]) -> None:
        if self.away:
            raise OSError("no space left")
        self.taken += records

    def close(self) -> None:
        raise OSError("no space left")


def test_the_file_holds_one_json_object_a_line_in_rangers_fields_and_is_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "audit" / "records.jsonl"
    sink = FileSink(path)

    sink.write([record(), record("bob")])
    sink.write([record("carol")])
    sink.close()

    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["reqUser"] for line in lines] == ["alice", "bob", "carol"]
    assert {"repo", "repoType", "evtTime", "access", "resource", "resType", "action", "result", "policy"} <= set(
        lines[0]
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("hostile", ['a"}\n{"reqUser":"root"', "a\r\nb", "\u2028", "x" * 100_000])
def test_a_hostile_name_stays_inside_its_record(hostile: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "records.jsonl"
    file, log = FileSink(path), LogSink()

    file.write([record(hostile)])
    with caplog.at_level(logging.INFO):
        log.write([record(hostile)])
    file.close()

    (line,) = path.read_bytes().splitlines()
    assert json.loads(line)["reqUser"] == hostile
    (message,) = [r.getMessage() for r in caplog.records]
    assert "\n" not in message
    assert "\r" not in message


def test_a_failing_sink_loses_counts_and_warns_once_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    broken, fine = Broken(), Broken()
    fine.away = False
    trail = AuditTrail([broken, fine])

    trail.write([record(), record()])
    trail.write([record()])

    assert trail.lost == 3
    assert len(fine.taken) == 3
    assert len([r for r in caplog.records if "being lost" in r.message]) == 1

    broken.away = False
    trail.write([record()])
    broken.away = True
    trail.write([record()])
    assert len([r for r in caplog.records if "being lost" in r.message]) == 2
    trail.close()


def test_sinks_are_chosen_by_name(tmp_path: Path) -> None:
    open_trail(AuditSettings(sinks=("file", "log"), file=tmp_path / "a"), BUILT_IN_SINKS).close()

    with pytest.raises(ConfigError, match="no audit sink `solr`; known are file, log"):
        open_trail(AuditSettings(sinks=("solr",)), BUILT_IN_SINKS)
    with pytest.raises(ConfigError, match=r"needs the setting `audit\.file`"):
        open_trail(AuditSettings(sinks=("file",)), BUILT_IN_SINKS)
