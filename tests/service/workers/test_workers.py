"""A service with workers is one service: for its policies, its limits, its journal, its figures and its end."""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.audit.verify import ChainVerifier, verify_lines
from ranger_cdap.config import ServiceSettings
from ranger_cdap.config.loader import MOST_WORKERS
from ranger_cdap.embedded_admin import EmbeddedAdmin
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.service.workers.service_with_workers import call_in_loop
from ranger_cdap.service.workers.worker import share_of
from tests.service.event_samples import stamped
from tests.service.fixtures import secret_of
from tests.service.journal_fixtures import on_disk
from tests.service.serve_process import PASSWORD, Served, command, configuration, until
from tests.service.workers.running import (
    CREATE,
    WORKERS,
    allow,
    check,
    enforce,
    kill,
    ranger,
    runs,
    serve_workers,
    version,
    workers,
)

KV = ("DATASET", "ns3", "kv")
APP = ("APPLICATION", "ns3", "d812fc2c-e560-11f1-ab25-02fc00000001", "-SNAPSHOT")
HEALTH = ("/health/live", "/health/ready")
MANY = 24
"""Connections, enough for each worker to accept some."""


@pytest.fixture(scope="module")
def admin() -> Iterator[tuple[EmbeddedAdmin, RangerAdmin]]:
    with ranger() as both:
        yield both


@pytest.fixture(scope="module")
def served(admin: tuple[EmbeddedAdmin, RangerAdmin], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serve_workers(tmp_path_factory.mktemp("workers"), admin[0].url, plugin__poll_interval="60") as running:
        yield running


def figure(served: Served, name: str) -> float:
    lines = served.ask(None, "GET", "/metrics").body.decode().splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if re.match(rf"ranger_cdap_{name}[ {{]", line))


@pytest.mark.slow
def test_policies_in_effect_are_in_effect_in_every_worker(
    served: Served, admin: tuple[EmbeddedAdmin, RangerAdmin]
) -> None:
    asked = check("bob", "DATASET", "ns4", "kv")
    draw = random.Random(1)
    for _ in range(12):
        before = version(served)
        policy = allow(admin[1], "bob", namespace="ns4", dataset="kv")
        granted, revoked = (f"/cdap/v1/policies?timeout=30&at_least={before + n}" for n in (1, 2))
        if draw.random() < 0.3:
            kill(draw.choice(workers(served)))
        assert served.ask("refresh", "GET", granted).json["version"] >= before + 1
        assert {answers["allowed"] for answers in asked_often(served, asked)} == {True}
        admin[1].delete_policy(policy.id or 0)
        assert served.ask("refresh", "GET", revoked).status == 200
        answers = asked_often(served, asked)
        assert {answer["allowed"] for answer in answers} == {False}
        assert len({answer["generation"] for answer in answers}) == 1


def asked_often(served: Served, asked: object) -> list[dict[str, object]]:
    """Answers over many connections at once; one that a killed worker had accepted is asked again."""

    def one(_: int) -> dict[str, object]:
        while True:
            try:
                answer: dict[str, object] = enforce(served, asked)
            except OSError:
                continue
            return answer

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(one, range(MANY)))


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_no_figure_shrinks(served: Served) -> None:
    asked_often(served, check("alice", *KV))
    before = figure(served, "requests_total"), figure(served, "decisions_total")
    gone = workers(served)[0]
    kill(gone)
    until(lambda: len(workers(served)) == WORKERS and gone not in workers(served))
    assert {answer["allowed"] for answer in asked_often(served, check("alice", *KV))} == {True}
    until(lambda: figure(served, "decisions_total") >= before[1] + MANY)
    assert figure(served, "requests_total") > before[0] + MANY


@pytest.mark.slow
@pytest.mark.parametrize("of_owner", [False, True], ids=["workers", "the owner"])
def test_an_allowed_creation_is_in_the_journal_though_processes_are_killed(
    admin: tuple[EmbeddedAdmin, RangerAdmin], tmp_path: Path, of_owner: bool
) -> None:
    allowed, end = list[int](), threading.Event()

    def create(first: int) -> None:
        number = first
        while not end.is_set():
            number += 10
            try:
                if enforce(served, check("alice", *KV, permission=CREATE, number=number))["allowed"]:
                    allowed.append(number)
            except OSError:
                continue

    with serve_workers(tmp_path, admin[0].url) as served:
        threads = [threading.Thread(target=create, args=(first,)) for first in range(4)]
        for thread in threads:
            thread.start()
        draw = random.Random(2)
        for round_ in range(4):
            until(lambda wanted=20 * (round_ + 1): len(allowed) >= wanted)  # type: ignore[misc]
            kill(draw.choice(until(lambda: workers(served))))
        if of_owner:
            left = until(lambda: workers(served))
            served.process.kill()
            until(lambda: not any(map(runs, left)))
        end.set()
        for thread in threads:
            thread.join()
        journalled = {int(line["id"], 16) for line in on_disk(tmp_path / "events")}
        assert set(allowed) <= journalled


@pytest.mark.slow
def test_while_the_owner_does_not_answer_nothing_is_created_and_policies_expire(
    admin: tuple[EmbeddedAdmin, RangerAdmin], tmp_path: Path
) -> None:
    with serve_workers(tmp_path, admin[0].url, plugin__max_staleness="9") as served:
        served.process.send_signal(signal.SIGSTOP)
        try:
            assert enforce(served, check("alice", *KV))["allowed"]
            refused = enforce(served, check("alice", *KV, permission=CREATE, number=1))
            assert not refused["allowed"]
            assert refused["reason"].startswith("creations and deletions are denied while the process that journals")
            until(lambda: not enforce(served, check("alice", *KV))["allowed"])
        finally:
            served.process.send_signal(signal.SIGCONT)
        until(lambda: enforce(served, check("alice", *KV))["allowed"])
        assert enforce(served, check("alice", *KV, permission=CREATE, number=2))["allowed"]


@pytest.mark.slow
def test_no_worker_outlives_a_killed_owner(admin: tuple[EmbeddedAdmin, RangerAdmin], tmp_path: Path) -> None:
    with serve_workers(tmp_path, admin[0].url) as served:
        left = workers(served)
        served.process.kill()
        until(lambda: not any(map(runs, left)))
        with pytest.raises(OSError, match="refused"), socket.create_connection(("127.0.0.1", served.port)):
            pass


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_owner_and_workers_when_requests_are_answered(
    admin: tuple[EmbeddedAdmin, RangerAdmin], tmp_path: Path, number: signal.Signals
) -> None:
    with serve_workers(tmp_path, admin[0].url) as served:
        enforce(served, check("alice", *KV, permission=CREATE, number=1))
        left = workers(served)
        with ThreadPoolExecutor(1) as pool:
            slow = "/cdap/v1/policies?at_least=999999&timeout=2"
            waiting = pool.submit(served.ask, "refresh", "GET", slow)
            until(lambda: figure(served, "requests_under_way") >= 2)
            served.process.send_signal(number)
            assert waiting.result().status == 503
        assert served.ended() == 0
        assert not any(map(runs, left))
    assert not [line for line in served.log if "Traceback" in line or '"error"' in line]
    assert [int(line["id"], 16) for line in on_disk(tmp_path / "events")] == [1]


def test_a_refresh_that_ends_after_the_last_worker_is_no_error() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    call_in_loop(loop, print)


@pytest.mark.slow
def test_what_others_see_of_a_worker_holds_no_secret(served: Served) -> None:
    for pid in workers(served):
        seen = Path(f"/proc/{pid}/cmdline").read_bytes() + Path(f"/proc/{pid}/environ").read_bytes()
        for secret in (PASSWORD.reveal(), *map(secret_of, CallerRole)):
            assert secret.encode() not in seen
        sockets = [str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()]
        inodes = {int(found[1]) for link in sockets if (found := re.fullmatch(r"socket:\[(\d+)\]", link))}
        listed = Path("/proc/net/unix").read_text(encoding="ascii").splitlines()[1:]
        ours = [fields for line in listed if int((fields := line.split())[6]) in inodes]
        assert ours
        assert all(len(fields) == 7 for fields in ours), "a socket with a name can be reached by others"


@pytest.mark.slow
def test_one_preview_creates_one_application_whichever_worker_is_asked(served: Served) -> None:
    preview = check("alice", *APP, permission="APPLICATION.PREVIEW")
    created = check("cdap", *APP, permission=CREATE)
    assert not enforce(served, created)["allowed"]
    assert enforce(served, preview)["allowed"]
    assert sum(bool(answer["allowed"]) for answer in asked_often(served, created)) == 1


@pytest.mark.slow
def test_a_caller_has_one_rate_in_all_workers(admin: tuple[EmbeddedAdmin, RangerAdmin], tmp_path: Path) -> None:
    rate = 10
    with serve_workers(tmp_path, admin[0].url, service__rate=str(rate)) as served:
        time.sleep(1)  # until the bucket is full again; its size is what is tested
        began = time.monotonic()
        with ThreadPoolExecutor(8) as pool:
            config = "/.well-known/authzen-configuration"
            statuses = list(pool.map(lambda _: served.ask("evaluate", "GET", config).status, range(60)))
        took = time.monotonic() - began
    assert rate <= statuses.count(200) <= rate * (1 + took)
    assert set(statuses) == {200, 429}


@pytest.mark.slow
def test_all_workers_together_hold_no_more_connections_than_the_settings_say(
    admin: tuple[EmbeddedAdmin, RangerAdmin], tmp_path: Path
) -> None:
    most = 8
    limits = {"service__max_connections": str(most), "service__body_timeout": "60"}
    with serve_workers(tmp_path, admin[0].url, **limits) as served, ExitStack() as stack:
        held = [stack.enter_context(socket.create_connection(("127.0.0.1", served.port))) for _ in range(MANY)]
        for connection in held:
            with suppress(OSError):
                connection.sendall(b"POST /cdap/v1/enforce HTTP/1.1\r\n")  # a head that never ends is not idle
        until(lambda: sum(map(is_open, held)) <= most)
        assert any(map(is_open, held))


def is_open(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(1, socket.MSG_DONTWAIT))
    except BlockingIOError:
        return True
    except OSError:
        return False


@pytest.mark.slow
def test_all_workers_together_answer_no_more_requests_at_once_than_the_settings_say(
    admin: tuple[EmbeddedAdmin, RangerAdmin], tmp_path: Path
) -> None:
    most = 4
    with serve_workers(tmp_path, admin[0].url, service__max_requests=str(most)) as served:
        slow = "/cdap/v1/policies?at_least=999999&timeout=3"
        with ThreadPoolExecutor(MANY) as pool:
            asked = [pool.submit(served.ask, "refresh", "GET", slow) for _ in range(MANY)]
            answers = [each.result() for each in asked]
    refused = [each for each in answers if each.status == 429 or b"too many concurrent requests" in each.body]
    assert 1 <= len(answers) - len(refused) <= most


@pytest.mark.slow
def test_health_status_and_figures_are_of_the_service_whichever_worker_is_asked(served: Served) -> None:
    counted = figure(served, "checks_journalled_total")
    assert enforce(served, check("alice", *KV, permission=CREATE, number=77))["allowed"]

    def one(path: str) -> tuple[str, int]:
        return path, served.ask("delegate" if path == "/status" else None, "GET", path).status

    with ThreadPoolExecutor(8) as pool:
        statuses = set(pool.map(one, [*HEALTH, "/status"] * MANY))
        figures = set(pool.map(lambda _: figure(served, "checks_journalled_total"), range(MANY)))
    assert statuses == {(path, 200) for path in (*HEALTH, "/status")}
    assert figures == {counted + 1}


@pytest.mark.slow
def test_the_audit_of_several_workers_is_one_chain(admin: tuple[EmbeddedAdmin, RangerAdmin], tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    audit = {"audit__sinks": '["file"]', "audit__file": f'"{file}"', "audit__chain": "true"}
    with serve_workers(tmp_path, admin[0].url, **audit, audit__spool_dir=f'"{tmp_path}/spool"') as served:
        asked_often(served, check("alice", *KV))
        kill(workers(served)[0])
        asked_often(served, check("alice", *KV))
        enforce(served, check("alice", *KV, permission=CREATE, number=1))
        served.process.send_signal(signal.SIGTERM)
        assert served.ended() == 0
    lines = file.read_bytes().splitlines(keepends=True)
    assert len(lines) > MANY
    assert not list(verify_lines(ChainVerifier(), (((str(file), n), line) for n, line in enumerate(lines, 1))))


@pytest.mark.slow
def test_a_pending_grant_is_named_by_every_worker(served: Served) -> None:
    made = stamped(7, check_principal="dora", uri="/v3/namespaces/ns5/data/datasets/kv")
    made["checks"][0]["parts"] = ["ns5", "kv"]
    now = int(time.time() * 1000)
    made |= {"started": now - 50, "ended": now}
    made["checks"][0]["at"] = now - 40
    stored = served.ask("audit", "POST", "/cdap/v1/audit", {"records": [made]})
    assert stored.json == {"stored": 1, "refused": []}
    reasons = {answer["reason"] for answer in asked_often(served, check("dora", "DATASET", "ns5", "kv"))}
    assert all("the grant to its creator is not in effect yet" in str(reason) for reason in reasons), reasons


@given(st.integers(1, MOST_WORKERS), st.integers(MOST_WORKERS, 5_000))
def test_the_parts_of_all_workers_are_no_more_than_the_whole(number: int, most: int) -> None:
    whole = ServiceSettings(workers=number, max_requests=most, max_connections=most, max_connections_per_peer=most)
    part = share_of(whole)
    for name in ("max_requests", "max_connections", "max_connections_per_peer"):
        assert getattr(part, name) >= 1
        assert number * getattr(part, name) <= most


@pytest.mark.parametrize(
    ("flag", "said"),
    [
        ("0", "`--workers` must be 1 to 64, not `0`"),
        ("-1", "`--workers` must be 1 to 64, not `-1`"),
        ("1000", "`--workers` must be 1 to 64, not `1000`"),
        ("many", "'many' is not a valid integer"),
        ("8", "`--workers` is `8`, and each needs one of `service.max_requests`, `4`"),
    ],
)
def test_a_wrong_number_of_workers_is_one_sentence(tmp_path: Path, flag: str, said: str) -> None:
    config = configuration(tmp_path, "http://127.0.0.1:9", service__max_requests="4")
    process = command("--config", str(config), "serve", "--workers", flag, directory=tmp_path)
    output, errors = process.communicate(timeout=60)
    assert said in errors
    assert not output
    assert "Traceback" not in errors
    assert process.returncode in (2, 3)


@pytest.mark.slow
def test_a_port_in_use_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        config = configuration(tmp_path, "http://127.0.0.1:9", service__port=port, service__workers="2")
        process = command("--config", str(config), "serve", directory=tmp_path)
        _, errors = process.communicate(timeout=60)
    assert f"port `{port}` on `127.0.0.1` cannot be used" in errors
    assert errors.count("\n") == 1


@pytest.mark.slow
def test_a_worker_that_cannot_start_ends_the_service_with_its_reason(
    admin: tuple[EmbeddedAdmin, RangerAdmin], tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import os, sys\nif 'ranger_cdap.service.workers.worker' in sys.orig_argv: os._exit(7)\n"
    )
    config = configuration(tmp_path, admin[0].url, service__workers="2")

    path = os.pathsep.join([str(broken), *filter(None, sys.path)])
    process = command("--config", str(config), "serve", "--quiet", directory=tmp_path, PYTHONPATH=path)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "a worker ended with code 7 before it could decide" in errors
    assert "Traceback" not in errors
