"""Files in Ranger's layout: whatever fails and ends in between, each record is published once, in whole lines."""

from __future__ import annotations

import json
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.audit import AuditSink, open_trail
from ranger_cdap.audit.ranger_event import ranger_event
from ranger_cdap.config import AuditSettings, Settings
from ranger_cdap.errors import AuditSinkError, ConfigError
from ranger_cdap.sinks.file_systems import PlainDirectory, published_directory
from ranger_cdap.sinks.hdfs import HdfsSink, publish_complete
from ranger_cdap.sinks.plugin import ranger_cdap_audit_sinks
from ranger_cdap.sinks.staged_files import StagedFiles
from tests.audit.samples import numbered
from tests.disk_faults import ended_well, full_disk, in_a_child

PATIENCE = 30.0
SOON = 0.0005
START = datetime(2026, 3, 5, 23, 59, 0, 0, UTC)


def line(number: int) -> bytes:
    return ranger_event(numbered(number)) + b"\n"


def ids(directory: Path) -> list[str]:
    """The ids of all published records; every line of every file is whole."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    assert not [path for path in files if path.name.startswith(".")]
    contents = [path.read_bytes() for path in files]
    assert all(content.endswith(b"\n") for content in contents)
    return [json.loads(text)["id"] for content in contents for text in content.splitlines()]


def plain(tmp_path: Path) -> PlainDirectory:
    (tmp_path / "p").mkdir(exist_ok=True)
    return PlainDirectory(tmp_path / "p")


class Clock:
    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        return self.now


# --- one writer, and whatever happens to it ---------------------------------------------------------------------------


class Fault(Enum):
    """What happens to a file that is published."""

    NONE = "it is there"
    UNAVAILABLE = "it is not there"
    ANSWER_LOST = "it is there, and the answer does not come"


class ScriptedDirectory:
    """A plain directory that fails as a script says, then never again."""

    def __init__(self, directory: Path, script: Sequence[Fault] = ()) -> None:
        directory.mkdir(exist_ok=True)
        self._plain = PlainDirectory(directory)
        self._script = list(script)
        self.changed = threading.Condition()

    def check(self) -> None:
        self._plain.check()

    def publish(self, source: Path, path: str) -> None:
        with self.changed:
            fault = self._script.pop(0) if self._script else Fault.NONE
            if fault is not Fault.UNAVAILABLE:
                self._plain.publish(source, path)
            self.changed.notify_all()
        if fault is not Fault.NONE:
            raise AuditSinkError(fault.value)


class Step(Enum):
    """What the program or its host does."""

    WRITE = "writes records"
    WAIT = "a day passes"
    SET_BACK = "the clock is set back"
    PUBLISH = "publishes what is complete"
    KILLED = "is killed, and another one begins"
    TORN = "is killed while it writes, and another one begins"


STEPS = st.lists(st.sampled_from(list(Step)), max_size=20)
FAULTS = st.lists(st.sampled_from(list(Fault)), max_size=8)


@settings(max_examples=100, deadline=None)
@given(STEPS, FAULTS, st.integers(1, 4))
def test_each_record_is_published_once(steps: list[Step], script: list[Fault], lines_of_a_file: int) -> None:
    clock, sent = Clock(), list[str]()
    with TemporaryDirectory() as name:
        staging, published = Path(name, "staging"), Path(name, "published")
        directory = ScriptedDirectory(published, script)

        def process() -> StagedFiles:
            size = lines_of_a_file * len(line(0))
            return StagedFiles(staging, "node1", max_bytes=1 << 20, largest_file=size, now=clock)

        staged = process()
        for step in [*steps, Step.PUBLISH, Step.KILLED, *[Step.PUBLISH] * (len(script) + 1)]:
            match step:
                case Step.WRITE:
                    staged.append(line(len(sent)) + line(len(sent) + 1))
                    sent += [str(len(sent)), str(len(sent) + 1)]
                case Step.WAIT:
                    clock.now += timedelta(days=1)
                case Step.SET_BACK:
                    clock.now -= timedelta(hours=5)
                case Step.PUBLISH:
                    try:
                        publish_complete(staged, directory)
                    except AuditSinkError:
                        continue
                case Step.KILLED | Step.TORN:
                    staged.close()
                    files = sorted(staging.glob("*.log"))
                    if step is Step.TORN and files:
                        with files[-1].open("ab") as torn:
                            torn.write(line(9)[:40])
                    staged = process()
        assert sorted(ids(published), key=int) == sent
        assert not list(staging.glob("*.log*"))
        staged.close()


def test_a_file_is_published_when_its_period_ends_and_not_before(tmp_path: Path) -> None:
    clock = Clock()
    staged = StagedFiles(tmp_path / "s", "node1", max_bytes=1 << 20, now=clock)
    assert staged.seconds_left is None
    staged.append(line(1))
    assert staged.seconds_left == 60.0
    assert not staged.complete()
    clock.now += timedelta(seconds=60)
    assert staged.seconds_left == 0.0
    staged.append(line(2))
    assert len(staged.complete()) == 1
    staged.close()


def test_what_waits_is_bounded_and_nothing_beyond_it_is_taken(tmp_path: Path) -> None:
    staged = StagedFiles(tmp_path / "s", "node1", max_bytes=2 * len(line(1)))
    staged.append(line(1) + line(2))
    with pytest.raises(AuditSinkError, match=r"bytes wait in .* to be published"):
        staged.append(line(3))
    staged.roll()
    publish_complete(staged, plain(tmp_path))
    staged.append(line(3))
    assert ids(tmp_path / "p") == ["1", "2"]
    staged.close()


def test_files_of_others_in_the_staging_directory_stay(tmp_path: Path) -> None:
    other = tmp_path / "hdfs-of-somebody.log"
    other.write_text("not ours")
    staged = StagedFiles(tmp_path, "node1", max_bytes=1 << 20)
    assert not staged.complete()
    assert other.read_text() == "not ours"


@pytest.mark.parametrize("host", ["../../x", "", "a/b", ".", "..", "x" * 300, "a\nb"])
def test_a_hostile_host_name_stays_a_part_of_a_name(host: str, tmp_path: Path) -> None:
    staged = StagedFiles(tmp_path / "s", host, max_bytes=1 << 20)
    staged.append(line(1))
    staged.roll()
    publish_complete(staged, plain(tmp_path))
    (found,) = (path.relative_to(tmp_path) for path in tmp_path.rglob("cdap_*"))
    assert len(found.parts) == 4
    assert ids(tmp_path / "p") == ["1"]


# --- the sink and its thread ------------------------------------------------------------------------------------------


def sink_to(tmp_path: Path, directory: ScriptedDirectory, *, largest_file: int = 1) -> HdfsSink:
    staged = StagedFiles(tmp_path / "staging", "node1", max_bytes=1 << 20, largest_file=largest_file)
    return HdfsSink(directory, staged, first_pause=SOON, close_seconds=PATIENCE)


def test_a_failing_directory_is_tried_again_and_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = ScriptedDirectory(tmp_path / "p", [Fault.UNAVAILABLE] * 3)
    sink = sink_to(tmp_path, directory)
    sink.write([numbered(1), numbered(2)])
    with directory.changed:
        assert directory.changed.wait_for(lambda: ids(tmp_path / "p"), PATIENCE)
    sink.close()
    assert ids(tmp_path / "p") == ["1", "2"]
    told = [record.message for record in caplog.records]
    assert told == [
        "audit files cannot be published and wait on this disk: it is not there",
        "audit files are published again",
    ]


def test_the_end_publishes_the_open_file(tmp_path: Path) -> None:
    sink = sink_to(tmp_path, ScriptedDirectory(tmp_path / "p"), largest_file=1 << 20)
    sink.write([numbered(1)])
    sink.write([numbered(2)])
    assert not ids(tmp_path / "p")
    sink.close()
    assert ids(tmp_path / "p") == ["1", "2"]


def test_what_an_earlier_process_left_is_published_with_the_first_record(tmp_path: Path) -> None:
    away = sink_to(tmp_path, ScriptedDirectory(tmp_path / "p", [Fault.UNAVAILABLE] * 100), largest_file=1 << 20)
    away.write([numbered(1)])
    away.close()
    directory = ScriptedDirectory(tmp_path / "p")
    sink = sink_to(tmp_path, directory, largest_file=1 << 20)
    sink.write([numbered(2)])
    with directory.changed:
        assert directory.changed.wait_for(lambda: ids(tmp_path / "p"), PATIENCE)
    assert ids(tmp_path / "p") == ["1"]
    sink.close()
    assert sorted(ids(tmp_path / "p")) == ["1", "2"]


def test_a_forked_child_has_files_of_its_own(tmp_path: Path) -> None:
    sink = sink_to(tmp_path, ScriptedDirectory(tmp_path / "p"), largest_file=1 << 20)
    sink.write([numbered(1)])

    def write_one() -> None:
        sink.write([numbered(2)])
        sink.close()
        assert ids(tmp_path / "p") == ["2"]

    assert ended_well(in_a_child(write_one))
    sink.close()
    assert sorted(ids(tmp_path / "p")) == ["1", "2"]


def test_a_full_disk_takes_all_lines_or_none(tmp_path: Path) -> None:
    staged = StagedFiles(tmp_path / "s", "node1", max_bytes=1 << 20)
    staged.append(line(1))
    with full_disk(len(line(1)) + 10), pytest.raises(OSError, match="File too large"):
        staged.append(line(2))
    staged.append(line(3))
    staged.roll()
    publish_complete(staged, plain(tmp_path))
    assert ids(tmp_path / "p") == ["1", "3"]
    staged.close()


# --- real processes ---------------------------------------------------------------------------------------------------

WRITER = """
import sys
from pathlib import Path
from ranger_cdap.sinks.plugin import ranger_cdap_audit_sinks
from ranger_cdap.config import AuditSettings, Settings
from ranger_cdap.sinks import staged_files
from tests.audit.samples import numbered

staged_files.LARGEST_FILE = 100_000
first = int(sys.argv[2])
audit = AuditSettings(hdfs_dir=sys.argv[1] + "/p", spool_dir=Path(sys.argv[1], "s"))
sink = ranger_cdap_audit_sinks()["hdfs"](Settings(audit=audit))
for number in range(first, first + int(sys.argv[3])):
    sink.write([numbered(number)])
    print(number, flush=True)
sink.close()
"""


def writer(directory: Path, first: int, count: int) -> subprocess.Popen[str]:
    arguments = [str(directory), str(first), str(count)]
    return subprocess.Popen([sys.executable, "-c", WRITER, *arguments], stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_two_processes_of_one_host_and_a_kill_lose_nothing(tmp_path: Path) -> None:
    """One is killed while it writes, and the other one ends; a third publishes what the killed one left."""
    plain(tmp_path)
    with writer(tmp_path, 0, 1_000_000) as killed, writer(tmp_path, 2_000_000, 500) as ended:
        assert killed.stdout is not None
        written = [killed.stdout.readline().strip() for _ in range(2_000)]
        killed.send_signal(signal.SIGKILL)
        written += killed.stdout.read().split("\n")[:-1]
        assert ended.communicate()[0].split() == [str(2_000_000 + n) for n in range(500)]
    with writer(tmp_path, 3_000_000, 1) as last:
        assert last.communicate()[0].split() == ["3000000"]
    found = ids(tmp_path / "p")
    assert len(found) == len(set(found))
    # The last one may be on the disk without its line on the terminal.
    assert {*written, *(str(2_000_000 + n) for n in range(500)), "3000000"} <= set(found)
    assert len(found) <= len(written) + 502
    assert not list((tmp_path / "s").glob("*.log*"))


# --- settings ---------------------------------------------------------------------------------------------------------


def configured(tmp_path: Path, **given_: str) -> AuditSink:
    return ranger_cdap_audit_sinks()["hdfs"](Settings(audit=AuditSettings(spool_dir=tmp_path / "s", **given_)))


def test_records_of_a_trail_are_files_private_to_their_owner(tmp_path: Path) -> None:
    plain(tmp_path)
    given_ = AuditSettings(sinks=("hdfs",), hdfs_dir=f"file://{tmp_path / 'p'}", spool_dir=tmp_path / "s")
    trail = open_trail(Settings(audit=given_), ranger_cdap_audit_sinks())
    trail.write([numbered(number) for number in range(1_200)])
    trail.close()
    assert trail.lost == 0
    assert sorted(map(int, ids(tmp_path / "p"))) == list(range(1_200))
    (path,) = (path for path in (tmp_path / "p").rglob("*.log"))
    assert path.parts[-3] == "cdap"
    assert path.name.startswith("cdap_ranger_audit_")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({}, "needs the setting `audit.hdfs_dir`"),
        ({"hdfs_dir": "relative/path"}, "must begin with `/` or with one of hdfs://"),
        ({"hdfs_dir": "ftp://host/x"}, "begins with `ftp:`; known are `hdfs://`"),
        ({"hdfs_dir": "file:relative"}, "must begin with `/`"),
        ({"hdfs_dir": "simplecache::s3://b/x"}, "must be an address like"),
        ({"hdfs_dir": "/a\nb"}, "must be an address like"),
        ({"hdfs_dir": "s3://key:Secr3t@bucket/x"}, "must not hold a password"),
        ({"hdfs_dir": "gs://bucket/x"}, "needs the library `gcsfs`: pip install gcsfs"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named(given_: dict[str, str], said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        configured(tmp_path, **given_)
    assert said in str(caught.value)
    assert "Secr3t" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_directory_that_is_not_mounted_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "staged").write_bytes(line(1))
    with pytest.raises(AuditSinkError, match="is no directory; create it, or mount what it is on"):
        PlainDirectory(tmp_path / "mnt" / "audit").publish(tmp_path / "staged", "a.log")
    assert not (tmp_path / "mnt").exists()


def test_the_check_of_a_directory_changes_nothing(tmp_path: Path) -> None:
    with pytest.raises(AuditSinkError, match="is no directory"):
        configured(tmp_path, hdfs_dir=f"{tmp_path}/p").write(())
    (tmp_path / "p").mkdir()
    configured(tmp_path, hdfs_dir=f"{tmp_path}/p").write(())
    assert not list((tmp_path / "p").iterdir())
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize("url", ["/srv/audit", "file:///srv/audit", "file:/srv/audit"])
def test_a_path_of_this_machine_needs_no_library(url: str) -> None:
    assert isinstance(published_directory(url), PlainDirectory)
