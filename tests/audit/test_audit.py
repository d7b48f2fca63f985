"""Audit: Ranger's field names, sinks that fail, records that try to forge others."""

import json
import logging
import stat
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from uuid import RFC_4122, UUID

import pytest

from ranger_cdap.audit import BUILT_IN_SINKS, AuditRecord, AuditTrail, open_trail
from ranger_cdap.audit.file import FileSink
from ranger_cdap.audit.record import EventIds, event_id_of
from ranger_cdap.audit.sinks import LogSink
from ranger_cdap.config import AuditSettings, NetworkSettings, Settings, load_settings
from ranger_cdap.errors import ConfigError
from tests.audit.undelayed import Undelayed
from tests.disk_faults import ended_well, full_disk, in_a_child


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
        policy_version=2,
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


def test_the_file_has_a_json_object_per_line_in_rangers_fields_for_its_owner_only(tmp_path: Path) -> None:
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
    trail = AuditTrail([Undelayed(broken), Undelayed(fine)])

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
    settings = AuditSettings(sinks=("file", "log"), file=tmp_path / "a", spool_dir=tmp_path / "spool")
    open_trail(Settings(audit=settings), BUILT_IN_SINKS).close()

    with pytest.raises(ConfigError, match="no audit sink `queue`; known are elasticsearch, file, log, solr"):
        open_trail(Settings(audit=AuditSettings(sinks=("queue",))), BUILT_IN_SINKS)
    with pytest.raises(ConfigError, match=r"`audit\.required` needs the sink `file`"):
        open_trail(Settings(audit=AuditSettings(sinks=("log",), required=True)), BUILT_IN_SINKS)
    with pytest.raises(ConfigError, match=r"`audit\.chain` needs the sink `file`"):
        open_trail(Settings(audit=AuditSettings(sinks=(), chain=True)), BUILT_IN_SINKS)
    with pytest.raises(ConfigError, match=r"needs the setting `audit\.solr_url`"):
        open_trail(Settings(audit=AuditSettings(sinks=("solr",))), BUILT_IN_SINKS)


def lines(path: Path) -> list[str]:
    return [json.loads(line)["reqUser"] for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.parametrize("sink", ["solr", "elasticsearch"])
def test_an_index_is_trusted_by_the_authorities_of_the_settings(sink: str) -> None:
    audit = AuditSettings(solr_url="https://solr.test/solr/c", elasticsearch_url="https://es.test")
    with pytest.raises(ConfigError, match=r"CA file `/no/such\.pem`"):
        BUILT_IN_SINKS[sink](Settings(audit=audit, network=NetworkSettings(ca_file="/no/such.pem")))


def test_a_full_file_is_put_away_and_no_line_is_lost_or_cut(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    sink = FileSink(path, max_bytes=1500, keep=2)
    for n in range(12):
        sink.write([record(f"user{n}")])
    sink.close()

    files = [tmp_path / "audit.jsonl.2", tmp_path / "audit.jsonl.1", path]
    kept = [user for file in files for user in lines(file)]
    assert kept == [f"user{n}" for n in range(12 - len(kept), 12)]
    assert all(0 < file.stat().st_size <= 1500 for file in files)
    assert not (tmp_path / "audit.jsonl.3").exists()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_two_processes_write_on_when_one_of_them_has_put_the_file_away(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    one, other = (FileSink(path, max_bytes=1500, keep=5) for _ in range(2))
    for n in range(8):
        (one if n % 3 else other).write([record(f"user{n}")])
    one.close()
    other.close()

    written = [
        user for file in tmp_path.glob("audit.jsonl*") if not file.name.endswith(".lock") for user in lines(file)
    ]
    assert sorted(written) == [f"user{n}" for n in range(8)]
    assert path.stat().st_size <= 1500


def test_a_record_larger_than_the_file_may_be_is_written_all_the_same(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "a", max_bytes=100, keep=1)
    for user in ("x" * 1000, "y" * 1000):
        sink.write([record(user)])
    sink.close()
    assert lines(tmp_path / "a") == ["y" * 1000]
    assert lines(tmp_path / "a.1") == ["x" * 1000]


def test_each_record_has_an_id_of_its_own_a_random_uuid() -> None:
    ids = [record().id for _ in range(100)]
    assert len(set(ids)) == 100
    assert all(str(UUID(id_)) == id_ and UUID(id_).version == 4 and UUID(id_).variant == RFC_4122 for id_ in ids)


def test_by_default_records_go_to_a_file_in_the_state_directory_for_its_owner_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    trail = open_trail(Settings(), BUILT_IN_SINKS)
    trail.write([record()])
    trail.close()
    path = tmp_path / "ranger-cdap" / "audit" / "records.jsonl"
    assert lines(path) == ["alice"]
    assert [stat.S_IMODE(each.stat().st_mode) for each in (path, path.parent)] == [0o600, 0o700]


def test_an_empty_list_of_sinks_switches_the_audit_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    trail = open_trail(load_settings(environ={"RANGER_CDAP_AUDIT__SINKS": ""}), BUILT_IN_SINKS)
    trail.write([record()])
    trail.close()
    assert not list(tmp_path.iterdir())


def test_no_two_records_have_one_id_whatever_threads_and_forks(tmp_path: Path) -> None:
    """Ids are drawn in blocks; a child that is forked in the middle of one has none of it."""
    ids = EventIds()
    before = [event_id_of(ids.draw()) for _ in range(100)]

    def draw(file: str) -> None:
        (tmp_path / file).write_text("\n".join(event_id_of(ids.draw()) for _ in range(2_000)), encoding="utf-8")

    assert ended_well(in_a_child(partial(draw, "child")))
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(draw, map(str, range(8))))
    drawn = [*before, *(one for file in tmp_path.iterdir() for one in file.read_text("utf-8").split())]
    assert len(drawn) == len(set(drawn)) == 100 + 9 * 2_000
    assert {(UUID(one).version, UUID(one).variant) for one in drawn} == {(4, RFC_4122)}


def test_processes_that_write_and_rotate_at_once_lose_and_mix_no_line(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"

    def work(number: int) -> None:
        sink = FileSink(path, max_bytes=5000, keep=200)
        for n in range(100):
            sink.write([record(f"{number}-{n}")])

    children = [in_a_child(partial(work, number)) for number in range(4)]
    assert [ended_well(child) for child in children] == [True] * 4
    written = [user for file in tmp_path.iterdir() for user in lines(file)]
    assert sorted(written) == sorted(f"{number}-{n}" for number in range(4) for n in range(100))


def test_what_a_full_disk_took_of_a_record_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    sink = FileSink(path)
    sink.write([record()])
    with full_disk(path.stat().st_size + 50), pytest.raises(OSError, match="File too large"):
        sink.write([record("bob")])
    sink.write([record("carol")])
    assert lines(path) == ["alice", "carol"]


def test_without_older_files_a_full_one_is_begun_again(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "a", max_bytes=500, keep=0)
    for user in ("alice", "bob", "carol"):
        sink.write([record(user)])
    assert lines(tmp_path / "a") == ["carol"]
    assert len(list(tmp_path.iterdir())) == 1
