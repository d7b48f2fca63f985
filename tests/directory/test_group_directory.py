"""Groups from several sources: who is asked, how often, for how long, and what a failure means."""

from __future__ import annotations

import grp
import os
import pwd
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ranger_cdap.config import GroupSettings, Settings
from ranger_cdap.config.loader import parse_settings
from ranger_cdap.directory.group_directory import GroupDirectory, GroupSource, is_possible_name
from ranger_cdap.directory.posix_groups import PosixGroups
from ranger_cdap.errors import ConfigError, GroupLookupFailed, GroupSourceUnavailable

Answer = Callable[[str], frozenset[str] | None]


class Source:
    """A source whose answer a test decides."""

    def __init__(self, answer: Answer, *, name: str = "ldap", is_definitive: bool = True) -> None:
        self.name = name
        self.is_definitive = is_definitive
        self.answer = answer
        self.asked: list[str] = []
        self.is_closed = False

    def look_up(self, user: str, deadline: float) -> frozenset[str] | None:
        self.asked.append(user)
        return self.answer(user)

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture(autouse=True)
def _lookups_end() -> Iterator[None]:
    """Wait for lookups that a test gave up, so that they log nothing into the next one."""
    yield
    for thread in threading.enumerate():
        if thread.name == "groups":
            thread.join(10)


def answering(*groups: str) -> Source:
    return Source(lambda _: frozenset(groups))


def unknown(_: str) -> None:
    return None


def fails(_: str) -> frozenset[str]:
    raise GroupLookupFailed("bad entry")


def down(_: str) -> frozenset[str]:
    raise GroupSourceUnavailable("no server")


def directory(*sources: GroupSource, at_once: int = 4, **settings: object) -> GroupDirectory:
    return GroupDirectory(GroupSettings(**settings), sources, at_once=at_once)  # type: ignore[arg-type]


def test_groups_of_all_sources_count() -> None:
    assert directory(answering("a", "b"), answering("b", "c")).groups_of("alice") == {"a", "b", "c"}


def test_not_combined_the_first_source_with_groups_counts() -> None:
    first, second, third = answering(), answering("b"), answering("c")
    assert directory(first, second, third, combined=False).groups_of("alice") == {"b"}
    assert not third.asked


def test_static_groups_replace_those_of_all_sources_which_are_not_asked() -> None:
    source = Source(down)
    found = directory(source, static={"etl": ("batch",), "guest": ()})
    assert found.groups_of("etl") == {"batch"}
    assert found.groups_of("guest") == frozenset()
    assert not source.asked
    assert GroupDirectory(GroupSettings(static={"a": ("b",)}), ()).groups_of("other") is None


def test_a_user_whom_no_source_knows_has_no_groups_if_the_sources_can_tell() -> None:
    assert directory(Source(unknown), Source(unknown)).groups_of("alice") is None


@pytest.mark.parametrize("answer", [fails, down])
def test_one_source_that_fails_leaves_the_groups_unknown(answer: Answer) -> None:
    for sources in ([Source(answer), answering("a")], [answering("a"), Source(answer)]):
        with pytest.raises(GroupLookupFailed):
            directory(*sources).groups_of("alice")


def test_a_fault_of_a_source_is_a_failure_without_its_message(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_: str) -> frozenset[str]:
        raise RuntimeError("hunter2")

    with pytest.raises(GroupLookupFailed, match="RuntimeError") as raised:
        directory(Source(broken)).groups_of("alice")
    assert "hunter2" not in str(raised.value) + caplog.text


def test_a_user_unknown_to_this_machine_may_only_be_unreachable() -> None:
    posix = Source(unknown, is_definitive=False)
    with pytest.raises(GroupLookupFailed, match="name service"):
        directory(posix).groups_of("alice")
    assert directory(posix, answering("a")).groups_of("alice") == {"a"}


def test_an_answer_is_used_again_and_asked_again_after_the_ttl() -> None:
    now, source = [100.0], answering("a")
    found = GroupDirectory(GroupSettings(ttl=60), [source], clock=lambda: now[0])
    for _ in range(3):
        assert found.groups_of("alice") == {"a"}
    assert source.asked == ["alice"]
    source.answer = unknown
    now[0] += 59
    assert found.groups_of("alice") == {"a"}
    now[0] += 1
    assert found.groups_of("alice") is None


def test_twenty_threads_that_ask_for_one_user_cause_one_lookup() -> None:
    gate = threading.Event()

    def waits(_: str) -> frozenset[str]:
        assert gate.wait(10)
        return frozenset({"a"})

    source = Source(waits)
    found = directory(source, deadline=20)
    with ThreadPoolExecutor(20) as threads:
        answers = [threads.submit(found.groups_of, "alice") for _ in range(20)]
        gate.set()
        assert {answer.result() for answer in answers} == {frozenset({"a"})}
    assert source.asked == ["alice"]


def test_a_source_that_hangs_is_waited_for_once_and_then_not_at_all() -> None:
    gate = threading.Event()

    def hangs(_: str) -> frozenset[str]:
        gate.wait(30)
        return frozenset({"a"})

    found = directory(Source(hangs), deadline=0.5)
    began = time.monotonic()
    try:
        with pytest.raises(GroupLookupFailed, match="in time"):
            found.groups_of("alice")
        waited = time.monotonic() - began
        for user in ("alice", "bob", "carol"):
            with pytest.raises(GroupLookupFailed):
                found.groups_of(user)
        # Nothing else waits: three more deadlines would be 1.5 s.
        assert time.monotonic() - began < waited + 1
    finally:
        gate.set()


def test_more_lookups_than_slots_wait_for_one_and_fail_in_time() -> None:
    gate = threading.Event()

    def hangs(_: str) -> frozenset[str]:
        gate.wait(30)
        return frozenset()

    source = Source(hangs)
    found = directory(source, at_once=2, deadline=0.3)
    try:
        with ThreadPoolExecutor(8) as threads:
            answers = [threads.submit(found.groups_of, f"user{n}") for n in range(8)]
            assert all(isinstance(answer.exception(), GroupLookupFailed) for answer in answers)
        assert len(source.asked) <= 2
    finally:
        gate.set()


def test_an_outage_is_logged_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    now, source = [0.0], Source(down)
    found = GroupDirectory(GroupSettings(), [source], clock=lambda: now[0])
    for n in range(30):
        now[0] = n * 1.0
        with pytest.raises(GroupLookupFailed):
            found.groups_of(f"user{n}")
    source.answer = lambda _: frozenset({"a"})
    now[0] = 100.0
    assert found.groups_of("alice") == {"a"}
    told = [record.message for record in caplog.records if record.name.endswith("group_directory")]
    assert told == [
        "groups cannot be looked up: no server; users count as members of every group in a deny",
        "groups can be looked up again",
    ]
    assert len(source.asked) < 10


def test_a_failure_of_one_user_is_logged_once_per_lookup_without_the_name(caplog: pytest.LogCaptureFixture) -> None:
    found = directory(Source(fails))
    for _ in range(5):
        with pytest.raises(GroupLookupFailed):
            found.groups_of("alice")
    assert [record.message for record in caplog.records] == ["groups of a user are unknown: bad entry"]


@pytest.mark.parametrize("name", ["", " alice", "a\0", "x" * 300])
def test_impossible_names_are_unknown_and_reach_no_source(name: str) -> None:
    source = answering("a")
    with pytest.raises(GroupLookupFailed, match="name of the user"):
        directory(source).groups_of(name)
    assert not source.asked


def test_sources_are_closed_with_the_last_reference() -> None:
    source = answering("a")
    found = directory(source)
    found.groups_of("alice")
    del found
    until = time.monotonic() + 5
    while not source.is_closed and time.monotonic() < until:  # the thread of the lookup may still end
        time.sleep(0.01)
    assert source.is_closed


def test_a_forked_process_looks_up_again_itself() -> None:
    source = answering("a")
    found = directory(source)
    assert found.groups_of("alice") == {"a"}
    child = os.fork()
    if child == 0:
        source.answer = lambda _: frozenset({"b"})
        os._exit(0 if found.groups_of("alice") == {"b"} else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_without_sources_there_is_nothing_to_ask() -> None:
    assert GroupDirectory.of(Settings(), {}) is None


def test_groups_of_this_machine_are_those_of_its_own_tools() -> None:
    own = pwd.getpwuid(os.getuid())
    names = {grp.getgrgid(gid).gr_name for gid in os.getgrouplist(own.pw_name, own.pw_gid)}
    assert PosixGroups().look_up(own.pw_name, 0) == names
    assert names


def test_a_user_unknown_to_this_machine_has_no_answer() -> None:
    assert PosixGroups().look_up("no-such-user-here", 0) is None
    assert PosixGroups().look_up("a\0b", 0) is None


def test_a_group_without_a_name_leaves_the_groups_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getgrouplist", lambda name, gid: [gid, 2**31 - 7])
    with pytest.raises(GroupLookupFailed, match="no name"):
        PosixGroups().look_up(pwd.getpwuid(os.getuid()).pw_name, 0)


def test_a_source_that_no_plugin_has_is_an_error_and_not_left_out() -> None:
    settings = parse_settings({"groups": {"sources": ["posix"]}}, origin="the test", environ={})
    with pytest.raises(ConfigError, match="no plugin has the source of groups `posix`"):
        GroupDirectory.of(settings, {})


@pytest.mark.parametrize("name", ["", " ", "a\0", "a\nb", " alice", "alice ", "a" * 257, "\u202eecila", "\ud800"])
def test_names_that_no_directory_holds_are_not_looked_up(name: str) -> None:
    assert not is_possible_name(name)


@pytest.mark.parametrize("name", ["alice", "*)(uid=*", "Müller, Anna", "EXAMPLE\\alice", "a" * 256])
def test_names_that_a_directory_can_hold_are_looked_up(name: str) -> None:
    assert is_possible_name(name)
