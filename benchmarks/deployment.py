"""Deployment for benchmarks: Ranger Admin, decision service and sync job, each a process of its own.

All settings are the defaults, but for names, secrets, addresses and directories. The sync job has one source, the
decision service's events, notifies that service, and has a baseline. The Ranger Admin is the embedded one.
"""

from __future__ import annotations

import base64
import http.client
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import msgspec

from benchmarks.processes import Running, running, wait_until
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.config import CdapSettings, MasterSettings, PluginSettings, Secret, Settings, SyncSettings
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.testing import EmbeddedRanger
from ranger_cdap.testing.in_process import PLUGIN
from ranger_cdap.wire.watermark import WATERMARK

SERVICE, INSTANCE, MASTER, SYNC = "cdapdev", "cdap", "cdap", "cdapsync"
CALLERS = {"enforce": "cdap-enforce", "audit": "cdap-audit", "refresh": "sync-notify"}
"""The callers of the decision service, by role."""

METRICS = "sync.prom"
"""The metrics file of the sync job, in the directory of the deployment."""

_IDLE_SECONDS = 5.0
_PASSWORD = "BENCH_PASSWORD"


@dataclass(frozen=True, slots=True)
class Deployment:
    """Running deployment: its directory, Ranger Admin, the decision service's address, and its processes by name."""

    home: Path
    ranger: EmbeddedRanger
    url: str
    processes: Mapping[str, Running]

    @property
    def events(self) -> Path:
        """Return the directory of records and journalled checks."""
        return self.home / "events"

    @property
    def extension(self) -> dict[str, str]:
        """Return the properties of CDAP's extension."""
        properties = {"url": self.url, "instance.name": INSTANCE, "master.user": MASTER}
        for role in ("enforce", "audit"):
            properties |= {f"{role}.name": CALLERS[role], f"{role}.secret.file": str(_secret_file(self.home, role))}
        return properties

    def caller(self, role: str) -> ServiceCaller:
        """Return a caller of the decision service."""
        return ServiceCaller(self.url, CALLERS[role], _secret_file(self.home, role).read_text(encoding="utf-8"))

    def command(self, *arguments: str) -> list[str]:
        """Return a command of `ranger-cdap` with the configuration of the deployment."""
        return _command("--config", str(_configuration(self.home)), *arguments)

    def running(self, name: str, *arguments: str) -> AbstractContextManager[Running]:
        """Run such a command until the end of the block; its output goes to the log of that name."""
        return running(self.command(*arguments), self.home / f"{name}.log", environment(self.ranger.password))


class ServiceCaller:
    """Caller of the decision service, with one keep-alive connection; a context manager that closes it."""

    def __init__(self, url: str, name: str, secret: str) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        authorization = "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()
        self._headers = {"Content-Type": "application/json", "Authorization": authorization}
        self._used = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def post(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer to a request."""
        if time.monotonic() - self._used > _IDLE_SECONDS:
            self._connection.close()  # before the service does; the next request opens it again
        self._connection.request("POST", path, msgspec.json.encode(body), self._headers)
        response = self._connection.getresponse()
        content = response.read()
        self._used = time.monotonic()
        assert response.status == 200, (path, response.status, content)
        return msgspec.json.decode(content, type=dict[str, Any])

    def denial(self, user: str, entity: EntityId, permission: str = "STANDARD.GET", **more: Any) -> str:
        """Return the reason why a user is denied; empty if they are allowed."""
        body = {"principal": {"name": user}, "entity": cdap_entity(entity), "permissions": [permission], **more}
        answer = self.post("/cdap/v1/enforce", body)
        return "" if answer["allowed"] else str(answer["reason"])


@contextmanager
def deployment(home: Path, privileges: Mapping[str, Sequence[str]], *, following: bool = True) -> Iterator[Deployment]:
    """Run Ranger Admin with users who have these privileges, the decision service and, if `following`, the sync job.

    The baseline knows no entities, unless `enter_baseline` is called before the first run.
    """
    password, port = Secret(f"Aa1-{secrets.token_urlsafe(12)}"), _free_port()
    for role in CALLERS:
        _secret_file(home, role).touch(mode=0o600)
        _secret_file(home, role).write_text(secrets.token_urlsafe(24), encoding="utf-8")
    admin_command = _command("embedded-admin", "--port", "0", "--admin-password", f"env:{_PASSWORD}")
    with running(admin_command, home / "admin.log", environment(password)) as admin_process:
        admin_url = admin_process.printed(r"not for production: (\S+)")
        with RangerAdmin(AdminConnection(admin_url, username="admin", password=password)) as admin:
            ranger = EmbeddedRanger(admin_url, admin, SERVICE, INSTANCE, password, "default")
            _set_up(ranger, privileges)
            _configuration(home).write_text(_settings(home, admin_url, port), encoding="utf-8")
            found = Deployment(home, ranger, f"http://127.0.0.1:{port}", {"embedded admin": admin_process})
            with found.running("serve", "serve", "--quiet") as service:
                service.printed(r"listening on (\S+)")
                # A baseline counts only for journals that exist already.
                wait_until((found.events / WATERMARK).exists, "the decision service has a watermark")
                known = {"embedded admin": admin_process, "decision service": service}
                if not following:
                    yield Deployment(home, ranger, found.url, known)
                    return
                enter_baseline(found, [])
                with found.running("follow", "sync", "run", "--follow") as sync:
                    yield Deployment(home, ranger, found.url, {**known, "sync run --follow": sync})


def enter_baseline(deployed: Deployment, known: Iterable[EntityId]) -> None:
    """Enter these entities into the ledger as known."""
    inventory = deployed.home / "inventory.jsonl"
    encode = msgspec.json.encode
    with inventory.open("wb") as file:
        file.write(encode({"v": 1, "instance": INSTANCE, "taken": datetime.now(UTC).isoformat()}) + b"\n")
        for entity in known:
            file.write(encode({"type": entity.type, "parts": list(entity.parts)}) + b"\n")
    command = deployed.command("sync", "baseline", "--inventory", str(inventory))
    subprocess.run(command, env=environment(deployed.ranger.password), stdout=subprocess.DEVNULL, check=True)


def cdap_entity(entity: EntityId) -> dict[str, Any]:
    """Return an entity as CDAP's extension sends it."""
    return {"type": entity.type.upper(), "parts": list(entity.parts)}


def environment(password: Secret) -> dict[str, str]:
    """Return the environment of the commands: with the password of all accounts, and with compiled modules."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, _PASSWORD: password.reveal()}


def _set_up(ranger: EmbeddedRanger, privileges: Mapping[str, Sequence[str]]) -> None:
    ranger.create_users(PLUGIN, SYNC, MASTER)
    wanted = DesiredState.of(
        Settings(
            cdap=CdapSettings(instance=INSTANCE),
            plugin=PluginSettings(username=PLUGIN),
            sync=SyncSettings(username=SYNC),
            master=MasterSettings(user=MASTER),
        )
    )
    service_setup.set_up(ranger.admin, wanted)
    ranger.give(privileges)


def _settings(home: Path, admin_url: str, port: int) -> str:
    def caller(role: str) -> str:
        secret = f'secret = "file:{_secret_file(home, role)}"'
        return f'[[service.callers]]\nname = "{CALLERS[role]}"\nroles = ["{role}"]\n{secret}\n'

    return (
        f'[ranger]\nurl = "{admin_url}"\nservice = "{SERVICE}"\n'
        f'[cdap]\ninstance = "{INSTANCE}"\n[master]\nuser = "{MASTER}"\n'
        f'[plugin]\nusername = "{PLUGIN}"\npassword = "env:{_PASSWORD}"\ncache_dir = "{home / "cache"}"\n'
        f'[audit]\nfile = "{home / "audit" / "records.jsonl"}"\nspool_dir = "{home / "audit"}"\n'
        f'[service]\nport = {port}\nevents_dir = "{home / "events"}"\n{"".join(map(caller, CALLERS))}'
        f'[sync]\nusername = "{SYNC}"\npassword = "env:{_PASSWORD}"\nstate_dir = "{home / "state"}"\n'
        f'metrics_file = "{home / METRICS}"\n'
        f'[[sync.sources]]\nname = "cdap"\nkind = "data-plane"\npath = "{home / "events"}"\n'
        f'callers = ["{CALLERS["audit"]}"]\n'
        f'[[sync.notify]]\nurl = "http://127.0.0.1:{port}"\ncaller = "{CALLERS["refresh"]}"\n'
        f'secret = "file:{_secret_file(home, "refresh")}"\n'
    )


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ranger_cdap", *arguments]


def _configuration(home: Path) -> Path:
    return home / "ranger-cdap.toml"


def _secret_file(home: Path, role: str) -> Path:
    return home / f"{role}.secret"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
