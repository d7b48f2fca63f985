"""Published events allow what `service.events_group` says and no more, whatever was there and whatever the umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from ranger_cdap.config import CallerSettings, Secret, ServiceSettings, Settings
from ranger_cdap.errors import ConfigError
from ranger_cdap.service.events.event_files import INCOMING, EventFiles
from ranger_cdap.service.events.event_store import EventStore
from ranger_cdap.service.events.events import Events
from ranger_cdap.wire import event_access
from ranger_cdap.wire.event_access import EventAccess, group_number
from ranger_cdap.wire.watermark import WATERMARK
from tests.service.event_samples import files_in

OWN = os.getegid()
GIVEN = (12000, 12999) if os.geteuid() == 0 else tuple(sorted({*os.getgroups()} - {OWN}))[:2]
needs_groups = pytest.mark.skipif(len(GIVEN) < 2, reason="needs root, or two groups besides the user's own")


@pytest.fixture(params=[0o000, 0o022, 0o077], ids=lambda mask: f"umask {mask:03o}")
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def written(events: Path, group: int | None, line: bytes = b"one\n") -> EventFiles:
    """A directory with one more published file and a watermark."""
    files = EventFiles(events, access=EventAccess(group))
    files.open()
    files.append(line)
    files.publish()
    files.watermark.write(1, None)
    files.close()
    return files


def allowed(path: Path) -> tuple[int, int | None]:
    """The mode, and the group where it has anything."""
    found = path.lstat()
    mode = stat.S_IMODE(found.st_mode)
    return mode, found.st_gid if mode & stat.S_IRWXG else None


def assert_fits(events: Path, group: int | None) -> None:
    by_group = 0 if group is None else 0o050
    assert allowed(events) == (0o700 | by_group, group)
    for path in (*files_in(events), events / WATERMARK):
        assert allowed(path) == (0o600 | by_group & 0o040, group), path
    assert allowed(events / INCOMING) == (0o700, None)


@needs_groups
@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize("group", [None, *GIVEN])
def test_what_is_published_is_for_the_owner_and_the_group_to_read(events: Path, group: int | None) -> None:
    written(events, group)
    assert_fits(events, group)


@needs_groups
@pytest.mark.usefixtures("umask")
@pytest.mark.parametrize(("before", "after"), list(product([None, *GIVEN], repeat=2)))
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o604, 0o660, 0o666])
def test_after_open_what_was_there_fits_the_setting(
    events: Path, before: int | None, after: int | None, mode: int
) -> None:
    written(events, before)
    for path in (*files_in(events), events / WATERMARK):
        path.chmod(mode)
    events.chmod(0o755)
    (events / INCOMING).chmod(0o755)
    again = EventFiles(events, access=EventAccess(after))
    again.open()
    assert_fits(events, after)
    again.close()


@needs_groups
def test_on_the_way_no_group_has_more_than_it_had_or_is_to_have(events: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = GIVEN
    written(events, first)
    (file,) = files_in(events)
    seen = []

    def watched(name: str) -> None:
        real = getattr(os, name)

        def call(descriptor: int, *arguments: int) -> None:
            real(descriptor, *arguments)
            found = os.fstat(descriptor)
            seen.append((found.st_gid, stat.S_IMODE(found.st_mode)))

        monkeypatch.setattr(event_access.os, name, call)

    watched("fchmod")
    watched("fchown")
    file.chmod(0o666)
    EventAccess(second).align_file(file)
    assert seen == [(first, 0o600), (second, 0o600), (second, 0o640)]


@needs_groups
def test_a_reader_never_meets_a_file_that_the_group_cannot_read(events: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = []
    rename, replace = Path.rename, Path.replace

    def seen(self: Path, target: Path) -> None:
        if target.parent == events:
            moved.append((target.name == WATERMARK, allowed(self)))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", lambda self, target: (seen(self, target), rename(self, target))[1])
        patch.setattr(Path, "replace", lambda self, target: (seen(self, target), replace(self, target))[1])
        written(events, GIVEN[0])
    assert moved == [(False, (0o640, GIVEN[0])), (True, (0o640, GIVEN[0]))]


@needs_groups
def test_what_is_no_published_file_is_left_alone(events: Path, tmp_path: Path) -> None:
    written(events, None)
    precious = tmp_path / "precious"
    precious.write_bytes(b"")
    precious.chmod(0o600)
    (events / "000000000000001-x.jsonl").symlink_to(precious)
    (events / "000000000000002-x.jsonl").mkdir(mode=0o700)
    files = EventFiles(events, access=EventAccess(GIVEN[0]))
    files.open()
    files.close()
    assert allowed(precious) == (0o600, None)
    assert allowed(events / "000000000000002-x.jsonl") == (0o700, None)


@needs_groups
def test_a_directory_that_is_named_by_a_link_is_used(events: Path, tmp_path: Path) -> None:
    events.mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(events)
    written(tmp_path / "link", GIVEN[0])
    assert_fits(events, GIVEN[0])


@needs_groups
def test_a_directory_that_is_made_again_while_the_service_runs_is_given_too(events: Path) -> None:
    files = written(events, GIVEN[0])
    files.open()
    for path in sorted(events.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    events.rmdir()
    files.append(b"two\n")
    files.publish()
    assert allowed(events) == (0o750, GIVEN[0])


@needs_groups
def test_a_file_that_cannot_be_given_is_not_published(events: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_descriptor: int, _owner: int, _group: int) -> None:
        raise PermissionError(1, os.strerror(1))

    store = EventStore(EventFiles(events, access=EventAccess(GIVEN[0])), segment_seconds=3600.0)
    before = store.watermark
    monkeypatch.setattr(event_access.os, "fchown", refused)
    store.append(lambda _: b"one\n")
    store.close()
    assert files_in(events) == []
    assert len(list((events / INCOMING).glob("*.jsonl"))) == 1
    assert store.watermark == before


@pytest.mark.parametrize("mode", [0o770, 0o2770, 0o752])
def test_a_directory_that_the_group_can_write_is_refused_as_without_a_group(events: Path, mode: int) -> None:
    events.mkdir()
    events.chmod(mode)
    with pytest.raises(ConfigError, match="can be written by other users"):
        EventFiles(events, access=EventAccess(OWN)).open()
    assert stat.S_IMODE(events.stat().st_mode) == mode


def test_a_group_is_known_by_its_name_or_its_number() -> None:
    assert (group_number("root"), group_number("0"), group_number("12000")) == (0, 0, 12000)
    assert [group_number(text) for text in ("no-such-group", "-1", "1.5", "٣", "4294967295", "9" * 5000)] == [None] * 6


def test_a_group_that_is_not_there_ends_the_start_in_one_sentence(events: Path) -> None:
    callers = (CallerSettings(name="audit", roles=("audit",), secret=Secret("a-secret-of-16-letters")),)
    service = ServiceSettings(events_dir=events, events_group="no-such-group", callers=callers)
    with pytest.raises(ConfigError, match=r"there is no group `no-such-group`.*groupadd.*`service\.events_group`"):
        Events.of(Settings(service=service))
    assert not events.exists()
