"""`ranger-cdap doctor`: nobody else can write what the sync job believes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ranger_cdap.config import Configuration, RangerSettings, Settings, SourceSettings, StoreUrl, SyncSettings
from ranger_cdap.doctor import Finding, Health, examine
from ranger_cdap.doctor.users import Users
from spark_sync.doctor.sources import examine_sources


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """A directory of events, ours alone, below a directory and with a file that are ours alone."""
    directory = tmp_path / "above" / "events"
    directory.mkdir(parents=True)
    (directory / "day").mkdir()
    for file in (directory / "1.log", directory / "2.txt", directory / "day" / "3.log"):
        file.write_text("{}\n")
    for place in (directory.parent, directory, *directory.rglob("*")):
        place.chmod(0o755 if place.is_dir() else 0o644)
    return directory


def found(path: Path | None) -> tuple[Finding, ...]:
    source = SourceSettings(name="audit", kind="audit", path=path)
    settings = Settings(sync=SyncSettings(sources=(source,)))
    return tuple(examine_sources(settings.sync.sources, Users.of(settings)))


@pytest.mark.parametrize("path", [".", "*.log", "*", "*/*.log", "{a,b}.log", "a**.log", "1.log"])
def test_what_its_owner_alone_can_write_is_well(events: Path, path: str) -> None:
    (finding,) = found(events / path)
    assert (finding.check, finding.health) == ("files of source `audit`", Health.WELL), finding


# the path of the source, what others can write to, the mode of it
OPEN = [
    (".", ".", 0o777),
    (".", ".", 0o775),
    (".", ".", 0o1777),
    (".", "1.log", 0o666),
    (".", "1.log", 0o664),
    (".", "..", 0o777),
    (".", "..", 0o775),
    ("*.log", ".", 0o777),
    ("*.log", "1.log", 0o666),
    ("*.log", "..", 0o777),
    ("{a,b}.log", ".", 0o777),
    ("{1,2}.log", "1.log", 0o666),
    ("*/*.log", "day", 0o777),
    ("*/*.log", "day/3.log", 0o666),
    ("1.log", "1.log", 0o666),
    ("1.log", ".", 0o777),
]


@pytest.mark.parametrize(("path", "place", "mode"), OPEN)
def test_what_others_can_write_to_fails_and_is_named(events: Path, path: str, place: str, mode: int) -> None:
    (events / place).resolve().chmod(mode)
    (finding,) = found(events / path)
    assert finding.health is Health.FAILED
    assert f"`{(events / place).resolve()}` can be written by others, who could become creators" in finding.seen
    assert "chmod go-w" in finding.advice


@pytest.mark.parametrize(
    ("path", "place", "mode"),
    [("*.log", "2.txt", 0o666), ("1.log", "2.txt", 0o666), (".", "..", 0o1777)],
    ids=["beside the pattern", "beside the file", "where nobody can rename what is another's"],
)
def test_what_is_not_read_may_be_anybody_s(events: Path, path: str, place: str, mode: int) -> None:
    (events / place).resolve().chmod(mode)
    (finding,) = found(events / path)
    assert finding.health is Health.WELL


def test_a_link_that_others_can_turn_is_found(events: Path, tmp_path: Path) -> None:
    anybody = tmp_path / "anybody"
    anybody.mkdir()
    (anybody / "events").symlink_to(events)
    anybody.chmod(0o777)
    (finding,) = found(anybody / "events")
    assert (finding.health, f"`{anybody}`" in finding.seen) == (Health.FAILED, True)


def test_a_directory_that_is_elsewhere_is_said_to_be(events: Path) -> None:
    (not_there,) = found(events / "none")
    assert (not_there.health, "does not exist" in not_there.seen) == (Health.NOTE, True)
    (remote,) = found(StoreUrl("s3://bucket", "events"))
    assert (remote.health, "of another file system" in remote.seen) == (Health.SKIPPED, True)


def test_a_source_without_files_has_none_to_look_at() -> None:
    assert found(None) == ()


def test_it_is_one_of_the_doctor_s_checks(events: Path) -> None:
    events.chmod(0o777)
    source = SourceSettings(name="audit", kind="audit", path=events)
    settings = Settings(
        ranger=RangerSettings(url="http://127.0.0.1:9"),
        sync=SyncSettings(sources=(source,)),
    )
    health = {finding.check: finding.health for finding in examine(Configuration(settings, {}, (), ()))}
    assert health["files of source `audit`"] is Health.FAILED
