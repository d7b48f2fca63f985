"""A Ranger Admin with a little in it, and `ranger-cdap serve` over it as a process of its own."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from ranger_cdap.config import RangerSettings, Secret, Settings
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.service.http.callers import CallerRole
from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.service.fixtures import Answer, basic, secret_of

PASSWORD = Secret("Correct-Horse-1")
SERVICE = "cdapdev"
LONGEST_WAIT = 60.0
POLL = 0.05

# As from a terminal: what a shell starts in the background ignores interrupts.
_INTERRUPTIBLE = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
_RUN = f"{_INTERRUPTIBLE}; from ranger_cdap.cli.main import run; run()"

Seen = TypeVar("Seen")

ENFORCE_KV = {
    "principal": {"name": "alice"},
    "entity": {"type": "DATASET", "parts": ["ns1", "kv"]},
    "permissions": ["STANDARD.GET"],
    "from_container": True,
}


def until(look: Callable[[], Seen], *, within: float = LONGEST_WAIT) -> Seen:
    """What a look gives as soon as it gives something true."""
    end = time.monotonic() + within
    while not (seen := look()):
        assert time.monotonic() < end, f"not within {within} s"
        time.sleep(POLL)
    return seen


@contextmanager
def ranger_admin() -> Iterator[tuple[EmbeddedAdmin, RangerAdmin]]:
    """A Ranger Admin that is filled, and its administrator."""
    with EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server:
        fill(server)
        with RangerAdmin.connect(Settings(ranger=RangerSettings(url=server.url)), "admin", PASSWORD) as admin:
            yield server, admin


@contextmanager
def admin_of_creations() -> Iterator[EmbeddedAdmin]:
    """A Ranger Admin in which alice may also do everything in ns3."""
    accesses = [PolicyItemAccess(type=each) for each in ("read", "write", "admin", "execute")]
    items = [PolicyItem(users=["alice"], accesses=accesses)]
    with ranger_admin() as (server, admin):
        for name, more in {"ns3": {}, "datasets of ns3": {"dataset": "*"}}.items():
            levels = {"instance": "cdap", "namespace": "ns3", **more}
            resources = {level: PolicyResource(values=[value]) for level, value in levels.items()}
            admin.create_policy(Policy(service=SERVICE, name=name, resources=resources, policy_items=items))
        yield server


def fill(server: EmbeddedAdmin) -> None:
    """Our service, the accounts `plugin`, `sync`, `alice` and `bob`, and that alice reads ns1 and a dataset in it."""
    with RangerAdmin.connect(Settings(ranger=RangerSettings(url=server.url)), "admin", PASSWORD) as admin:
        for name in ("plugin", "sync", "alice", "bob"):
            admin.create_user(name, PASSWORD)
        wanted = DesiredState(SERVICE, "cdap", plugin_account="plugin", sync_account="sync")
        service_setup.set_up(admin, wanted)
        read(admin, "alice", namespace="ns1")
        read(admin, "alice", namespace="ns1", dataset="kv")


def read(admin: RangerAdmin, user: str, **levels: str) -> Policy:
    """A policy by which somebody may read."""
    resource = {"instance": "cdap", **levels}
    return admin.create_policy(
        Policy(
            service=SERVICE,
            name=f"{user} reads {'.'.join(levels.values())}",
            resources={level: PolicyResource(values=[value]) for level, value in resource.items()},
            policy_items=[PolicyItem(users=[user], accesses=[PolicyItemAccess(type="read")])],
        )
    )


def configuration(directory: Path, ranger_url: str, **changes: str) -> Path:
    """A configuration file with one caller for each role; `changes` replace values by `table__key`, as TOML."""
    tables = {
        "ranger": {"url": f'"{ranger_url}"', "service": f'"{SERVICE}"', "attempts": "1"},
        "plugin": {
            "username": '"plugin"',
            "password": f'"{PASSWORD.reveal()}"',
            "cache_dir": f'"{directory / "cache"}"',
            "poll_interval": "0.5",
        },
        "service": {"port": "0", "events_dir": f'"{directory / "events"}"'},
    }
    for name, value in changes.items():
        table, _, key = name.partition("__")
        tables.setdefault(table, {})[key] = value
    lines = []
    for table, values in tables.items():
        lines += [f"[{table}]", *(f"{key} = {value}" for key, value in values.items())]
    for role in CallerRole:
        lines += ["[[service.callers]]", f'name = "{role}"', f'roles = ["{role}"]', f'secret = "{secret_of(role)}"']
    file = directory / "ranger-cdap.toml"
    file.write_text("\n".join(lines), encoding="utf-8")
    file.chmod(0o600)
    return file


@dataclass
class Served:
    """A running `ranger-cdap serve`."""

    process: subprocess.Popen[str]
    url: str
    said: str
    log: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port
        return port

    def ask(self, who: str | None, method: str, path: str, body: Any = None) -> Answer:
        return ask(self.port, who, method, path, body)

    def ended(self) -> int:
        """The exit code, when it has ended."""
        return self.process.wait(LONGEST_WAIT)


def ask(port: int, who: str | None, method: str, path: str, body: Any = None) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LONGEST_WAIT)
    headers = {"Authorization": basic(who)} if who else {}
    data = None
    if body is not None:
        headers["Content-Type"], data = "application/json", json.dumps(body)
    try:
        connection.request(method, path, data, headers)
        response = connection.getresponse()
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
    finally:
        connection.close()


def command(*arguments: str, directory: Path, before: str = "", **environment: str) -> subprocess.Popen[str]:
    """`ranger-cdap` with these arguments, begun in a directory; `before` is run in it first."""
    return subprocess.Popen(
        [sys.executable, "-c", f"{before}\n{_RUN}", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environment},
    )


@contextmanager
def serve(
    config: Path | None,
    directory: Path,
    *flags: str,
    quiet: bool = False,
    what: tuple[str, ...] = ("serve",),
    before: str = "",
) -> Iterator[Served]:
    """`ranger-cdap serve`, or `what`, from when it says where it answers; killed at the end if it still runs."""
    settings = ["--config", str(config)] if config else []
    for flag in flags:
        settings += ["--set", flag]
    process = command(*settings, *what, *(["--quiet"] if quiet else []), directory=directory, before=before)
    assert process.stdout is not None
    assert process.stderr is not None
    said = process.stdout.readline()
    found = re.search(r"https?://127\.0\.0\.1:\d+", said)
    if not found:
        raise AssertionError(process.communicate())
    served = Served(process, found[0], said)
    reader = threading.Thread(target=lambda: served.log.extend(process.stderr or ()))
    reader.start()
    try:
        yield served
    finally:
        process.kill()
        process.wait()
        reader.join()
        process.stdout.close()
        process.stderr.close()
