"""`/cdap/v1/audit`: what is acknowledged is in the sync job's files, also when the service is killed."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.service.http.limits import ServiceLimits
from tests.disk_faults import full_disk
from tests.service.event_samples import Json, files_in, record, stored_in
from tests.service.fixtures import CALLERS, Answer, World, caller, secret_of, serving

PATH = "/cdap/v1/audit"


def post(world: World, *records: Any, who: str = "audit") -> Answer:
    return world.ask(who, "POST", PATH, {"records": list(records)})


def counted(world: World, name: str) -> float:
    text = world.ask(None, "GET", "/metrics").body.decode()
    found = re.search(rf"^ranger_cdap_events_{name}_total (\S+)$", text, re.MULTILINE)
    assert found
    return float(found[1])


def test_records_are_stored_with_the_authenticated_caller(tmp_path: Path) -> None:
    callers = (*CALLERS, caller("cdap-master", CallerRole.AUDIT))
    with serving([], tmp_path, callers=callers) as world:
        answer = post(world, record(1), record(2), who="cdap-master")
        assert (answer.status, answer.json) == (200, {"stored": 2, "refused": []})
        assert counted(world, "stored") == 2
    stored = stored_in(tmp_path / "events")
    assert [line["record"] for line in stored] == [record(1), record(2)]
    assert {line["caller"] for line in stored} == {"cdap-master"}


def test_one_bad_record_does_not_stop_the_others(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    bad = [record(v=3), record(instance="prod"), record(id="x"), 7, record(instance="prod2")]
    with serving([], tmp_path) as world:
        answer = post(world, bad[0], record(1), *bad[1:], record(2))
        assert answer.json["stored"] == 2
        assert [refused["index"] for refused in answer.json["refused"]] == [0, 2, 3, 4, 5]
        assert all(refused["reason"] for refused in answer.json["refused"])
        assert (counted(world, "stored"), counted(world, "refused")) == (2, 5)
        post(world, *bad)
    assert [line["record"] for line in stored_in(tmp_path / "events")] == [record(1), record(2)]
    told = [message for message in caplog.messages if "is refused" in message]
    assert len(told) == 3  # version, instance and format: once a kind


def test_a_list_that_comes_twice_is_refused_whole(tmp_path: Path) -> None:
    body = b'{"records":[' + json.dumps(record()).encode() + b'],"records":[]}'
    with serving([], tmp_path) as world:
        assert world.ask("audit", "POST", PATH, body).status == 400
    assert stored_in(tmp_path / "events") == []


def test_more_records_than_allowed_are_refused(tmp_path: Path) -> None:
    with serving([], tmp_path, limits=ServiceLimits(batch=2)) as world:
        answer = post(world, record(1), record(2), record(3))
    assert (answer.status, answer.json["message"]) == (400, "`records` has more than 2")
    assert stored_in(tmp_path / "events") == []


def test_no_records_make_no_file(tmp_path: Path) -> None:
    with serving([], tmp_path) as world:
        assert post(world).json == {"stored": 0, "refused": []}
    assert files_in(tmp_path / "events") == []


def test_a_service_that_nobody_may_bring_records_to_makes_no_directory(tmp_path: Path) -> None:
    with serving([], tmp_path, callers=(caller("enforce", CallerRole.ENFORCE),)) as world:
        assert world.state.events is None
    assert not (tmp_path / "events").exists()


def test_a_full_disk_is_told_and_nothing_is_acknowledged_until_there_is_room(tmp_path: Path) -> None:
    with serving([], tmp_path) as world:
        with full_disk(100):
            answer = post(world, record(1))
        assert (answer.status, answer.json["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert "send them again" in answer.json["message"]
        assert "retry-after" in answer.headers
        assert counted(world, "stored") == 0
        assert post(world, record(1)).json["stored"] == 1
    assert [line["record"] for line in stored_in(tmp_path / "events")] == [record(1)]


def test_what_waits_is_handed_over_when_the_service_ends(tmp_path: Path) -> None:
    with serving([], tmp_path) as world:
        threads = [threading.Thread(target=post, args=(world, record(n))) for n in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    names = {line["record"]["checks"][0]["parts"][1] for line in stored_in(tmp_path / "events")}
    assert names == {f"kv{n}" for n in range(30)}


# --- killed while CDAP sends --------------------------------------------------------------------------------------

KILLS = 4
SENDERS = 4


@dataclass
class Service:
    """`ranger-cdap serve` in a process of its own, without a Ranger Admin: it stores all the same."""

    directory: Path
    port: int = 0
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        secret = self.directory / "secret"
        secret.write_text(secret_of("audit"), encoding="utf-8")
        secret.chmod(0o600)
        config = self.directory / "ranger-cdap.toml"
        config.write_text(
            f'ranger = {{ url = "http://127.0.0.1:9", attempts = 1 }}\n'
            f'plugin = {{ cache_dir = "{self.directory / "cache"}", username = "p", password = "p" }}\n'
            f'[service]\nport = 0\nevents_dir = "{self.directory / "events"}"\n'
            f'[[service.callers]]\nname = "audit"\nroles = ["audit"]\nsecret = "file:{secret}"\n',
            encoding="utf-8",
        )
        config.chmod(0o600)
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        command = [Path(sys.executable).with_name("ranger-cdap"), "--config", config, "serve", "--quiet"]
        self.process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        found = re.search(r":(\d+);", first)
        assert found, first
        self.port = int(found[1])

    def end(self, number: int) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(30)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code

    def post(self, records: list[Json]) -> bool:
        """Whether all of them were acknowledged."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        credentials = base64.b64encode(f"audit:{secret_of('audit')}".encode()).decode()
        headers = {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"}
        try:
            connection.request("POST", PATH, json.dumps({"records": records}), headers)
            response = connection.getresponse()
            body = response.read()
            return response.status == 200 and json.loads(body)["stored"] == len(records)
        except (OSError, http.client.HTTPException, ValueError):
            return False
        finally:
            connection.close()


@dataclass
class Sender:
    """Sends until it is told to stop, and remembers what was acknowledged."""

    service: Service
    number: int
    acknowledged: list[str] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)
    sent: int = 0

    def run(self) -> None:
        while not self.stopped.is_set():
            names = [f"s{self.number}x{self.sent}", f"s{self.number}x{self.sent + 1}"]
            self.sent += 2
            if self.service.post([record(check_parts=["ns1", name]) for name in names]):
                self.acknowledged += names


@pytest.mark.kills
def test_whatever_was_acknowledged_is_there_after_any_number_of_kills(tmp_path: Path) -> None:
    service = Service(tmp_path)
    acknowledged: list[str] = []
    for round_ in range(KILLS):
        service.start()
        senders = [Sender(service, round_ * SENDERS + n) for n in range(SENDERS)]
        threads = [threading.Thread(target=sender.run) for sender in senders]
        for thread in threads:
            thread.start()
        # Long enough in some rounds for a segment to be handed over, too short in others.
        wait_for(senders, 40 * (round_ + 1))
        service.end(signal.SIGKILL)
        for sender, thread in zip(senders, threads, strict=True):
            sender.stopped.set()
            thread.join()
            acknowledged += sender.acknowledged
    service.start()
    assert service.post([record(check_parts=["ns1", "last"])])
    assert service.end(signal.SIGTERM) == 0
    acknowledged.append("last")
    stored = stored_in(tmp_path / "events")
    names = [line["record"]["checks"][0]["parts"][1] for line in stored]
    assert set(acknowledged) <= set(names)
    assert len(acknowledged) >= KILLS * 40
    assert len({line["id"] for line in stored}) == len(names) == len(set(names))


def wait_for(senders: list[Sender], count: int) -> None:
    waited = threading.Event()
    for _ in range(6000):
        if sum(len(sender.acknowledged) for sender in senders) >= count:
            return
        waited.wait(0.01)
    raise AssertionError("nothing is acknowledged")
