"""The cache on disk: names and shapes, what is trusted, and what a fault of the disk or a kill leaves behind."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import CacheError
from ranger_cdap.ranger.client.versions import Versions
from ranger_cdap.ranger.refresh.cache import PolicyCache
from ranger_cdap.ranger.refresh.documents import Documents
from ranger_cdap.ranger.refresh.refresh_state import LastContact
from tests.disk_faults import full_disk, in_a_child
from tests.ranger.documents import SERVICE, policies, policy, roles, tags

NOW = time.time()
OLD = Documents(policies(1, policy(1)), roles(1))
NEW = Documents(policies(2, policy(1), policy(2, "bob")), roles(2, ops=["bob"]))
DAY = 86_400.0


class Reports(list[str]):
    """What the cache reported."""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "cache"


@pytest.fixture
def reports() -> Reports:
    return Reports()


@pytest.fixture
def cache(directory: Path, reports: Reports) -> PolicyCache:
    return PolicyCache(directory, SERVICE, report=reports.append)


def contact(version: int, age: float = 0.0, *, at: float = NOW, tag_version: int = -1) -> LastContact:
    """A contact of the set whose documents all have that version, noted `age` seconds after it."""
    return LastContact(at=at, age=age, noted=at + age, versions=Versions(version, version, tag_version))


def written(cache: PolicyCache, documents: Documents, version: int, age: float = 0.0) -> None:
    """Write documents that were confirmed `age` seconds before now."""
    cache.write(documents, contact(version, at=NOW - age))


def loaded(cache: PolicyCache, now: float = NOW) -> tuple[Documents, float] | None:
    found = cache.load(now)
    return (found[0].documents, found[1]) if found else None


def test_what_is_written_is_loaded_with_its_age(cache: PolicyCache) -> None:
    assert loaded(cache) is None
    cache.write(OLD, contact(1))
    assert loaded(cache, NOW + 40) == (OLD, 40)
    cache.record_contact(contact(1, at=NOW + 30))
    assert loaded(cache, NOW + 40) == (OLD, 10)


def test_the_engine_of_the_cache_has_the_version_that_was_written(cache: PolicyCache) -> None:
    cache.write(NEW, contact(2))
    found = cache.load(NOW)
    assert found is not None
    assert (found[0].engine.policy_version, found[0].versions) == (2, Versions(2, 2, -1))


@pytest.mark.parametrize("look", [PolicyCache.load, PolicyCache.peek])
def test_lack_of_memory_quarantines_no_sound_cache(
    cache: PolicyCache, monkeypatch: pytest.MonkeyPatch, look: Callable[[PolicyCache, float], object]
) -> None:
    cache.write(OLD, contact(1))
    with monkeypatch.context() as patch:
        patch.setattr(PolicyEngine, "build", Mock(side_effect=MemoryError))
        with pytest.raises(CacheError, match="not enough memory"):
            look(cache, NOW)
    assert loaded(cache) == (OLD, 0)


def test_names_and_shapes_are_those_of_java_plugins_and_nobody_else_may_look(
    cache: PolicyCache, directory: Path
) -> None:
    tagged = Documents(policies(1, policy(1), tagged=True), roles(1), tags(1))
    cache.write(tagged, contact(1, tag_version=1))
    assert (directory / "cdap_cdapdev.json").read_bytes() == tagged.policies
    assert (directory / "cdap_cdapdev_roles.json").read_bytes() == tagged.roles
    assert (directory / "cdap_cdapdev_tag.json").read_bytes() == tagged.tags
    assert cache.path("_userstore") == directory / "cdap_cdapdev_userstore.json"
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in directory.glob("*.json")} == {0o600}
    assert loaded(cache) == (tagged, 0)


@pytest.mark.parametrize(
    "service", ["../../escaped", "/etc/passwd", "a/b", "a\\b", "C:x", "..", ".", "nul\0byte", "new\nline", ""]
)
def test_no_service_name_leads_out_of_the_directory(tmp_path: Path, service: str) -> None:
    directory = tmp_path / "a" / "cache"
    PolicyCache(directory, service, report=print).write(OLD, contact(1))
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} == {directory}
    assert len(list(directory.glob("*.json"))) == 4


def test_a_name_too_long_for_the_disk_is_one_sentence(directory: Path) -> None:
    with pytest.raises(CacheError, match=r"cannot be (locked|written)"):
        PolicyCache(directory, "x" * 300, report=print).write(OLD, contact(1))


# What is older than what was used


def saved(directory: Path) -> dict[str, bytes]:
    """The documents and their contact, as a backup has them; not what says which were used."""
    files = (path for path in directory.glob("*.json") if not path.name.endswith("_used.json"))
    return {path.name: path.read_bytes() for path in files}


def put_back(directory: Path, backup: dict[str, bytes]) -> None:
    for name in saved(directory):
        (directory / name).unlink()
    for name, content in backup.items():
        (directory / name).write_bytes(content)
        (directory / name).chmod(0o600)


def test_an_old_cache_that_is_put_back_does_not_decide(cache: PolicyCache, directory: Path, reports: Reports) -> None:
    cache.write(OLD, contact(1))
    backup = saved(directory)
    cache.write(NEW, contact(2, at=NOW + 1))
    put_back(directory, backup)

    assert loaded(cache, NOW + 2) is None
    assert reports == [
        f"policy cache `{cache.path()}` is not used: it has version 1 of the policies, and this host has used 2; "
        "version 1 of the roles, and this host has used 2; if Ranger was restored: "
        "`ranger-cdap policies refresh --allow-older`"
    ]
    cache.write(NEW, contact(2, at=NOW + 3))
    assert loaded(cache, NOW + 4) == (NEW, 1)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_part_of_an_old_cache_comes_back(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Law: whichever files of whichever time are put back, what is loaded is not older than what was used."""
    directory = tmp_path_factory.mktemp("old") / "cache"
    cache = PolicyCache(directory, SERVICE, report=lambda _: None)
    numbers = data.draw(st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=1, max_size=4))
    newest, backups = Versions(), []
    for n, (of_policies, of_roles) in enumerate(numbers):
        versions = Versions(of_policies, of_roles)
        documents = Documents(policies(of_policies, policy(1)), roles(of_roles))
        cache.write(documents, LastContact(at=NOW + n, age=0, noted=NOW + n, versions=versions))
        if not versions.older_than(newest):
            newest = versions.newest(newest)
        backups.append(saved(directory))
        found = cache.load(NOW + n)
        assert found is not None
        assert not found[0].versions.older_than(newest)
    put_back(directory, {name: data.draw(st.sampled_from(backups))[name] for name in backups[-1]})

    found = cache.load(NOW + 10)
    assert found is None or not found[0].versions.older_than(newest)


def test_after_ranger_was_restored_older_ones_are_used_once_somebody_says_so(
    directory: Path, cache: PolicyCache
) -> None:
    cache.write(NEW, contact(2))
    allowed = PolicyCache(directory, SERVICE, report=print, allow_older=True)
    allowed.write(OLD, contact(1, at=NOW + 1))

    assert loaded(cache, NOW + 1) == (OLD, 0)
    cache.write(NEW, contact(2, at=NOW + 2))
    assert cache.refusal(Versions(1, 1))


def test_a_service_that_was_gone_and_is_made_anew_begins_with_its_first_version(cache: PolicyCache) -> None:
    cache.write(NEW, contact(2))
    cache.quarantine("the service is gone")
    cache.write(OLD, contact(1, at=NOW + 1))
    assert loaded(cache, NOW + 1) == (OLD, 0)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"policies": "9"}', b"\xff"])
def test_what_was_used_and_can_not_be_read_is_said(cache: PolicyCache, directory: Path, content: bytes) -> None:
    cache.write(OLD, contact(1))
    cache.path("_used").write_bytes(content)
    with pytest.raises(CacheError, match=r"_used\.json` cannot be read"):
        cache.load(NOW)


class Overtaken(PolicyCache):
    """A reader that is overtaken by a writer after its nth file."""

    def __init__(self, writer: PolicyCache, reports: Reports, after: int) -> None:
        super().__init__(writer.path().parent, SERVICE, report=reports.append)
        self._writer = writer
        self._files_until = after

    def _read(self, kind: str) -> bytes | None:
        content = super()._read(kind)
        self._files_until -= 1
        if self._files_until == 0:
            self._writer.write(NEW, contact(2))
        return content


@pytest.mark.parametrize("after", range(1, 6))
def test_a_look_without_a_lock_takes_no_set_of_a_moment_ago_for_one_put_back(
    cache: PolicyCache, reports: Reports, after: int
) -> None:
    written(cache, OLD, 1, age=1)
    assert Overtaken(cache, reports, after).peek(NOW) is not None
    assert reports == []


# The age


def test_a_clock_set_back_makes_no_cache_younger(cache: PolicyCache) -> None:
    cache.write(OLD, contact(1, age=500))
    assert loaded(cache, NOW + 500) == (OLD, 500)
    assert loaded(cache, NOW - DAY) == (OLD, 500)


def test_without_a_contact_the_oldest_file_tells_the_age(cache: PolicyCache) -> None:
    written(cache, OLD, 1, age=700)
    os.utime(cache.path("_roles"), (NOW - 900, NOW - 900))
    cache.path("_contact").unlink()
    assert loaded(cache) == (OLD, 900)


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"at": 1e300}', b"[]", b'{"at":0,"age":-5,"noted":0,"versions":{}}', b"\xff"]
)
def test_a_contact_that_can_not_be_read_is_none(cache: PolicyCache, content: bytes) -> None:
    written(cache, OLD, 1, age=700)
    cache.path("_contact").write_bytes(content)
    assert loaded(cache) == (OLD, 700)


def test_a_contact_of_another_set_is_none(cache: PolicyCache) -> None:
    written(cache, OLD, 1, age=700)
    cache.record_contact(contact(9))
    assert loaded(cache) == (OLD, 700)


def test_files_written_in_the_future_and_without_contact_do_not_decide(cache: PolicyCache, reports: Reports) -> None:
    written(cache, OLD, 1)
    cache.path("_contact").unlink()
    assert loaded(cache, NOW - 10) is None
    assert "future" in reports[0]


def test_what_was_confirmed_later_stays(cache: PolicyCache) -> None:
    cache.write(NEW, contact(2, at=NOW))
    late = contact(1, age=61, at=NOW - 60)
    cache.write(OLD, late)
    assert loaded(cache) == (NEW, 0)
    cache.record_contact(contact(2, age=61, at=NOW - 60))
    assert loaded(cache) == (NEW, 0)


def test_a_contact_in_the_future_does_not_freeze_the_cache(cache: PolicyCache) -> None:
    cache.write(OLD, contact(1, at=NOW + DAY))
    cache.write(NEW, contact(2, at=NOW))
    assert loaded(cache) == (NEW, 0)


# What is trusted

SPOILED: list[tuple[str, str, Callable[[bytes], bytes]]] = [
    ("policies cut short", "", lambda old: old[: len(old) // 2]),
    ("policies empty", "", lambda old: b""),
    ("policies of another service", "", lambda old: policies(1, policy(1), service="other")),
    ("policies are a list", "", lambda old: b"[]"),
    ("policies are a page", "", lambda old: b"<html></html>"),
    ("policies nested without end", "", lambda old: b'{"policies":' + b"[" * 200_000),
    ("policies not UTF-8", "", lambda old: old.replace(b"alice", b"al\xffce").replace(b"cdapdev", b"cd\xffpdev")),
    ("no service definition", "", lambda old: json.dumps({"serviceName": SERVICE, "policyVersion": 1}).encode()),
    ("roles cut short", "_roles", lambda old: old[:-1]),
    ("roles of another service", "_roles", lambda old: roles(1, service="other")),
    ("roles empty", "_roles", lambda old: b""),
]


@pytest.mark.parametrize(("kind", "spoil"), [row[1:] for row in SPOILED], ids=[row[0] for row in SPOILED])
def test_a_spoiled_or_foreign_file_is_set_aside_and_never_decides(
    cache: PolicyCache, reports: Reports, kind: str, spoil: Callable[[bytes], bytes]
) -> None:
    cache.write(OLD, contact(1))
    path = cache.path(kind)
    path.write_bytes(spoil(path.read_bytes()))
    spoiled = path.read_bytes()
    assert loaded(cache) is None
    assert "quarantined" in reports[0]
    assert path.with_name(f"{path.name}.corrupt").read_bytes() == spoiled
    assert loaded(cache) is None
    assert len(reports) == 1
    cache.write(NEW, contact(2))
    assert loaded(cache) == (NEW, 0)


def test_whatever_a_document_breaks_it_does_not_decide(
    cache: PolicyCache, reports: Reports, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.write(OLD, contact(1))
    monkeypatch.setattr(PolicyEngine, "build", lambda *args, **kwargs: 1 // 0)
    assert loaded(cache) is None
    assert "ZeroDivisionError" in reports[0]


@pytest.mark.parametrize("kind", ["_roles", "_tag"])
def test_policies_without_what_belongs_to_them_do_not_decide(cache: PolicyCache, reports: Reports, kind: str) -> None:
    cache.write(Documents(policies(1, tagged=True), roles(1), tags(1)), contact(1, tag_version=1))
    cache.path(kind).unlink()
    assert loaded(cache) is None
    assert kind in reports[0]


def test_what_is_gone_is_not_found_again(cache: PolicyCache) -> None:
    cache.write(OLD, contact(1))
    cache.quarantine("the service is gone")
    assert loaded(cache) is None
    assert cache.path().with_name("cdap_cdapdev.json.gone").exists()
    cache.quarantine("nothing left")


@pytest.mark.parametrize("mode", [0o666, 0o620, 0o602])
@pytest.mark.parametrize("what", ["", "_roles", "directory"])
def test_what_others_can_change_is_not_used(cache: PolicyCache, what: str, mode: int) -> None:
    cache.write(OLD, contact(1))
    (cache.path().parent if what == "directory" else cache.path(what)).chmod(mode | 0o100)
    with pytest.raises(CacheError, match="other users"):
        cache.load(NOW)


def test_a_file_of_somebody_else_is_not_used(cache: PolicyCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.write(OLD, contact(1))
    if os.geteuid() == 0:
        os.chown(cache.path(), 54321, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: 54321)
    with pytest.raises(CacheError, match="other users"):
        cache.load(NOW)


def test_a_link_or_a_pipe_is_not_followed(cache: PolicyCache, tmp_path: Path) -> None:
    cache.write(OLD, contact(1))
    elsewhere = tmp_path / "elsewhere.json"
    cache.path().rename(elsewhere)
    cache.path().symlink_to(elsewhere)
    with pytest.raises(CacheError):
        cache.load(NOW)
    cache.path().unlink()
    os.mkfifo(cache.path())
    with pytest.raises(CacheError):
        cache.load(NOW)


def test_writing_replaces_a_link_instead_of_following_it(cache: PolicyCache, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    cache.write(OLD, contact(1))
    cache.path().unlink()
    cache.path().symlink_to(victim)
    cache.path().with_name(".cdap_cdapdev.json.new").symlink_to(victim)
    cache.write(NEW, contact(2))
    assert victim.read_text() == "precious"
    assert loaded(cache) == (NEW, 0)


# Faults


@pytest.mark.parametrize("bytes_left", [0, 10, 100])
def test_a_full_disk_leaves_what_was_there(cache: PolicyCache, directory: Path, bytes_left: int) -> None:
    cache.write(OLD, contact(1, age=500))
    with full_disk(bytes_left), pytest.raises(CacheError, match="cannot be written"):
        cache.write(NEW, contact(2, at=NOW + 500))
    found = loaded(cache, NOW + 500)
    assert found == (OLD, 500)
    assert not list(directory.glob(".*.new"))


@pytest.mark.parametrize("error", [errno.EROFS, errno.EACCES])
def test_a_directory_that_can_not_be_written_can_still_be_read(
    cache: PolicyCache, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    cache.write(OLD, contact(1))
    real = os.open

    def read_only(path: object, flags: int, *args: object, **kwargs: object) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(error, os.strerror(error), str(path))
        return real(path, flags, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", read_only)
    assert loaded(cache) == (OLD, 0)
    with pytest.raises(CacheError):
        cache.write(NEW, contact(2))
    assert loaded(cache) == (OLD, 0)


def test_a_directory_that_is_a_file_is_one_sentence(directory: Path, cache: PolicyCache) -> None:
    directory.write_text("")
    assert cache.load(NOW) is None
    with pytest.raises(CacheError, match="cannot be created"):
        cache.write(OLD, contact(1))


def killed_at(call: int, names: tuple[str, ...], work: Callable[[], None]) -> bool:
    """Run the work in a child that is killed at its nth call of these functions of `os`; whether it came so far."""

    def until_killed() -> None:
        calls = 0

        def watched(real: Callable[..., object]) -> Callable[..., object]:
            def wrapper(*args: object, **kwargs: object) -> object:
                nonlocal calls
                calls += 1
                if calls == call:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*args, **kwargs)

            return wrapper

        for name in names:
            setattr(os, name, watched(getattr(os, name)))
        work()

    _, status = os.waitpid(in_a_child(until_killed), 0)
    return os.WIFSIGNALED(status)


def test_a_kill_at_any_moment_of_a_write_leaves_whole_files_and_no_false_youth(cache: PolicyCache) -> None:
    call, killed = 0, True
    while killed:
        call += 1
        written(cache, OLD, 1, age=700)
        killed = killed_at(call, ("open", "fsync", "replace", "unlink"), lambda: cache.write(NEW, contact(2)))
        found = loaded(cache, NOW + 60)
        assert found is not None
        documents, age = found
        assert documents.policies in (OLD.policies, NEW.policies)
        assert documents.roles in (OLD.roles, NEW.roles)
        assert age >= (60 if documents == NEW else 700)
        cache.quarantine("next")
    assert documents == NEW
    assert call > 10


def test_processes_that_write_at_once_leave_one_whole_set(cache: PolicyCache) -> None:
    sets = {v: Documents(policies(v, *(policy(n) for n in range(v))), roles(v)) for v in range(1, 9)}

    def write(version: int) -> None:
        for _ in range(10):
            cache.write(sets[version], contact(version, at=NOW))

    children = [in_a_child(lambda v=version: write(v)) for version in sets]  # type: ignore[misc]
    while children:
        found = cache.load(NOW)
        if found is not None:
            version = found[0].versions.policies
            assert found[0].documents == sets[version]
        ended, status = os.waitpid(-1, os.WNOHANG)
        if ended:
            children.remove(ended)
            assert status == 0
    assert loaded(cache) is not None


ADDRESSES = st.lists(
    st.sampled_from(["http://a:6080", "http://A:6080/", "https://b:6182", "https://c"]), max_size=3, unique=True
).map(tuple)


@given(written_by=ADDRESSES, ours=ADDRESSES, accepted=ADDRESSES)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_cache_is_used_only_where_ranger_admin_has_one_of_its_addresses(
    tmp_path: Path, written_by: tuple[str, ...], ours: tuple[str, ...], accepted: tuple[str, ...]
) -> None:
    said = Reports()
    with tempfile.TemporaryDirectory(dir=tmp_path) as name:
        before = PolicyCache(Path(name), SERVICE, report=said.append, addresses=written_by)
        after = PolicyCache(Path(name), SERVICE, report=said.append, addresses=ours, accepted=accepted)
        before.write(OLD, contact(1))
        is_same = {each.rstrip("/").casefold() for each in written_by} & {
            each.rstrip("/").casefold() for each in (*ours, *accepted)
        }
        expected = bool(is_same or not written_by or not ours)
        assert (after.peek(NOW) is not None, said == []) == (expected, expected)
        with nullcontext() if expected else pytest.raises(CacheError, match="accept_cache_of"):
            assert loaded(after) is not None
        after.record_contact(contact(1, at=NOW + 1))
        assert loaded(after) is not None
