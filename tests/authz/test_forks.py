"""An `Authorizer` in a forked process: it decides by current policies, hangs nowhere, and audits each answer once."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import select
import signal
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from ranger_cdap.audit import AuditRecord
from ranger_cdap.audit.commit import GroupCommit
from ranger_cdap.audit.delivery import Delivery
from ranger_cdap.audit.spool import Spool
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.config import AuditSettings, PluginSettings, RangerSettings, Secret, Settings
from ranger_cdap.errors import AuditSinkError, InvalidInput
from ranger_cdap.testing import EmbeddedRanger, embedded_ranger
from tests.audit.samples import numbered
from tests.authz.fixtures import authorizer as authorizer_over
from tests.authz.fixtures import policy

LONGEST = 30.0
QUESTIONS = 40
KV = entity_id("dataset", ["ns1", "kv"])
SECRET = entity_id("dataset", ["ns1", "secret"])
GIVEN = {"alice": ["READ dataset:ns1.kv", "READ namespace:ns1"]}
PER_ANSWER = 1  # record: of the dataset


@pytest.fixture(scope="module")
def ranger() -> Iterator[EmbeddedRanger]:
    with embedded_ranger() as running:
        running.give(GIVEN)
        yield running


def settings_of(ranger: EmbeddedRanger, directory: Path, *, required: bool = False, poll: float = 3600) -> Settings:
    made = ranger.settings(directory)
    return msgspec.structs.replace(
        made,
        audit=msgspec.structs.replace(made.audit, required=required),
        plugin=msgspec.structs.replace(made.plugin, poll_interval=poll),
    )


@contextmanager
def forked(work: Callable[[], object]) -> Iterator[Callable[[], object]]:
    """Run it in a forked child; the function yielded returns its result, or fails if it hangs or fails."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.write(writing, json.dumps(work()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writing)

    def result() -> object:
        assert select.select([reading], [], [], LONGEST)[0], "the child hangs"
        answer = os.read(reading, 1 << 16)
        assert answer, "the child failed"
        return json.loads(answer)

    try:
        yield result
    finally:
        ended = os.pidfd_open(child)
        if not select.select([ended], [], [], LONGEST)[0]:
            os.kill(child, signal.SIGKILL)
        os.close(ended)
        os.waitpid(child, 0)
        os.close(reading)


def asked(authorizer: Authorizer, times: int = QUESTIONS) -> list[bool]:
    return [authorizer.check("alice", (), "dataset.get", KV).allowed for _ in range(times)]


def audited(directory: Path) -> list[str]:
    """The ids of all records in the file and in the spool."""
    files = [directory / "audit.jsonl", *(directory / "audit").glob("*.jsonl")]
    lines = (line for path in files if path.exists() for line in path.read_bytes().splitlines())
    return [json.loads(line)["id"] for line in lines]


@pytest.mark.parametrize("required", [False, True], ids=["queued", "required"])
def test_parent_and_child_audit_each_answer_once(ranger: EmbeddedRanger, tmp_path: Path, required: bool) -> None:
    authorizer = Authorizer.open(settings_of(ranger, tmp_path, required=required))

    def work() -> object:
        with authorizer:
            return asked(authorizer)

    before = asked(authorizer)  # without `required` they wait in the queue while the child is forked
    with forked(work) as result:
        assert result() == [True] * QUESTIONS
    after = asked(authorizer)
    authorizer.close()

    assert before + after == [True] * 2 * QUESTIONS
    found = audited(tmp_path)
    assert len(found) == len(set(found)) == 3 * QUESTIONS * PER_ANSWER


@pytest.mark.parametrize("background", [True, False], ids=["background", "on request"])
def test_a_child_can_refresh_while_the_parent_is_downloading(
    ranger: EmbeddedRanger, tmp_path: Path, background: bool
) -> None:
    authorizer = Authorizer.open(settings_of(ranger, tmp_path), refresh_in_background=background)
    refreshing = authorizer.decider.policies._refreshing  # type: ignore[attr-defined]
    # The lock is held, as by a thread that waits for Ranger Admin.
    with authorizer, refreshing, forked(lambda: [authorizer.refresh().state.value, *asked(authorizer, 1)]) as result:
        assert result() == ["fresh", True]


def test_a_child_refreshes_in_the_background(ranger: EmbeddedRanger, tmp_path: Path) -> None:
    """The parent's last download was before the change: the child has to see it by its own."""
    go, ready = os.pipe()

    def work() -> object:
        os.read(go, 1)
        while not authorizer.check("bob", (), "dataset.get", SECRET).allowed:
            pass
        return "allowed"

    with Authorizer.open(settings_of(ranger, tmp_path, poll=0.05)) as authorizer, forked(work) as result:
        ranger.give({"bob": ["READ dataset:ns1.secret", "READ namespace:ns1"]})
        os.write(ready, b"!")
        assert result() == "allowed"
    os.close(go)
    os.close(ready)


def test_a_child_does_not_decide_by_policies_older_than_allowed(ranger: EmbeddedRanger, tmp_path: Path) -> None:
    made = settings_of(ranger, tmp_path)
    with Authorizer.open(made, refresh_in_background=False) as authorizer:
        refresher = authorizer.decider.policies
        now = refresher._clock()  # type: ignore[attr-defined]
        later = type(now)(now.wall + made.plugin.max_staleness + 1, now.monotonic)

        def work() -> object:
            refresher._clock = lambda: later  # type: ignore[attr-defined]
            answer = authorizer.check("alice", (), "dataset.get", KV)
            return [answer.allowed, answer.ready]

        with forked(work) as result:
            assert result() == [False, False]


@pytest.mark.slow
def test_forking_among_threads_that_ask_and_refresh_hangs_no_child(ranger: EmbeddedRanger, tmp_path: Path) -> None:
    over = threading.Event()
    authorizer = Authorizer.open(settings_of(ranger, tmp_path, poll=0.01))

    def keep_asking() -> None:
        while not over.is_set():
            asked(authorizer, 1)

    def work() -> object:
        with authorizer:
            return [*asked(authorizer, 3), authorizer.refresh().engine is not None]

    threads = [threading.Thread(target=keep_asking) for _ in range(3)]
    try:
        for thread in threads:
            thread.start()
        for _ in range(10):
            with forked(work) as result:
                assert result() == [True] * 4
    finally:
        over.set()
        for thread in threads:
            thread.join()
        authorizer.close()
    found = audited(tmp_path)
    assert len(found) == len(set(found))


_inherited: list[Authorizer] = []


def ask_the_inherited(_: int) -> list[bool]:
    return asked(_inherited[0], 5)


def test_workers_of_multiprocessing_need_not_close_what_they_inherit(ranger: EmbeddedRanger, tmp_path: Path) -> None:
    """Such a worker skips `atexit`, and ends as soon as it has answered."""
    with Authorizer.open(settings_of(ranger, tmp_path)) as authorizer:
        _inherited[:] = [authorizer]
        asked(authorizer, 5)
        workers = multiprocessing.get_context("fork")
        with workers.Pool(3) as pool:
            answers = pool.map(ask_the_inherited, range(9), chunksize=1)
            pool.close()
            pool.join()
    assert answers == [[True] * 5] * 9
    found = audited(tmp_path)
    assert len(found) == len(set(found)) == (9 + 1) * 5 * PER_ANSWER


@pytest.mark.slow
def test_a_spawned_worker_opens_its_own(ranger: EmbeddedRanger, tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        password = ranger.password.reveal()
        assert pool.apply(open_and_ask, (ranger.url, password, str(tmp_path))) == [True] * 5
    assert len(audited(tmp_path)) == 5 * PER_ANSWER


def open_and_ask(url: str, password: str, directory: str) -> list[bool]:
    here = Path(directory)
    own = Settings(
        ranger=RangerSettings(url=url, service="cdapdev"),
        plugin=PluginSettings(username="cdapplugin", password=Secret(password), cache_dir=here / "cache"),
        audit=AuditSettings(file=here / "audit.jsonl", spool_dir=here / "audit"),
    )
    with Authorizer.open(own) as authorizer:
        return asked(authorizer, 5)


def test_an_authorizer_cannot_be_sent_to_another_process() -> None:
    with pytest.raises(InvalidInput, match="open one there"):
        pickle.dumps(authorizer_over([]))


def test_a_preforking_server_decides_by_new_policies_in_each_worker(ranger: EmbeddedRanger, tmp_path: Path) -> None:
    authorizer = Authorizer.open(settings_of(ranger, tmp_path, poll=0.05))
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> object:
            """Answer one user per connection, until a connection says nothing."""
            with authorizer:
                while True:
                    connection, _ = listening.accept()
                    with connection:
                        if not (user := connection.recv(100).decode()):
                            return "ended"
                        allowed = authorizer.check(user, (), "dataset.get", KV).allowed
                        connection.sendall(f"{os.getpid()} {allowed}".encode())

        def ask(user: str) -> tuple[str, str]:
            with socket.create_connection(listening.getsockname()) as connection:
                connection.sendall(user.encode())
                worker, _, allowed = connection.recv(100).decode().partition(" ")
                return worker, allowed

        with forked(serve) as first, forked(serve) as second:
            assert {ask("zoe")[1] for _ in range(20)} == {"False"}
            ranger.give({"zoe": ["READ dataset:ns1.kv", "READ namespace:ns1"]})
            following = set[str]()
            while len(following) < 2:  # both workers allow it, sooner or later
                worker, allowed = ask("zoe")
                following |= {worker} if allowed == "True" else set()
            for _ in range(2):
                socket.create_connection(listening.getsockname()).close()
            assert (first(), second()) == ("ended", "ended")
    authorizer.close()


class Kept:
    """A sink that keeps what it gets; `close` is remembered."""

    def __init__(self) -> None:
        self.records: list[AuditRecord] = []

    def write(self, records: Sequence[AuditRecord]) -> None:
        self.records += records

    def close(self) -> None:
        pass


def held(condition: threading.Condition, run: Callable[[], Collection[str]]) -> Collection[str]:
    """Run it while a thread holds the condition, as one that is about to write does."""
    holds, release = threading.Event(), threading.Event()

    def hold() -> None:
        with condition:
            holds.set()
            release.wait(LONGEST)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert holds.wait(LONGEST)
        return run()
    finally:
        release.set()
        thread.join()


@pytest.mark.parametrize("kind", [Delivery, GroupCommit])
def test_a_queue_whose_lock_was_held_at_the_fork_works_in_the_child(
    kind: type[Delivery] | type[GroupCommit],
) -> None:
    sink = Kept()
    queue = Delivery("kept", sink, capacity=10) if kind is Delivery else GroupCommit(sink, capacity=10)

    def work() -> object:
        queue.write([numbered(7)])
        queue.close()
        return [record.id for record in sink.records]

    def child() -> list[str]:
        with forked(work) as result:
            return result()  # type: ignore[return-value]

    assert held(queue._changed, child) == ["7"]
    queue.close()
    assert sink.records == []


def test_a_child_leaves_the_spool_of_its_parent_alone(tmp_path: Path) -> None:
    class Away(Kept):
        def write(self, records: Sequence[AuditRecord]) -> None:
            raise AuditSinkError("away")

    queue = Delivery("solr", Away(), capacity=10, spool=Spool(tmp_path, "solr", max_bytes=10_000))
    queue.write([numbered(1)])

    def work() -> object:
        queue.write([numbered(2)])
        queue.close()
        return "closed"

    with forked(work) as result:
        assert result() == "closed"
    queue.write([numbered(3)])
    queue.close()

    lines = sorted(json.loads(line)["id"] for path in tmp_path.glob("*.jsonl") for line in path.read_bytes().split())
    assert lines == ["1", "2", "3"]
    again = Spool(tmp_path, "solr", max_bytes=10_000)
    got: list[str] = []
    again.send(lambda records: got.extend(record.id for record in records), 10)
    assert sorted(got) == ["1", "2", "3"]


def test_a_closed_authorizer_denies_everything() -> None:
    authorizer = authorizer_over([policy(1, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["read"])])
    assert authorizer.visible("alice", (), [KV]) == [KV]
    authorizer.close()
    answer = authorizer.check("alice", (), "dataset.get", KV)
    assert (answer.allowed, answer.ready, answer.reason) == (False, False, "not ready: the authorizer is closed")
    assert authorizer.visible("alice", (), [KV]) == []
    assert authorizer.snapshot.engine is None
