"""Every secret of a whole run is marked; afterwards the marks are looked for in everything the run has left behind."""

from __future__ import annotations

import base64
import http.client
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from ranger_cdap.config import RangerSettings, Secret, Settings
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin

SECRETS = {
    "admin": "Marked-0-admin/Password",
    "plugin": "Marked-1-plugin/Password",
    "sync": "Marked-2-sync/Password",
    "wrong": "Marked-3-wrong/Password",
    "caller": "marked-4-caller/secret-of-the-service",
    "stranger": "marked-5-what-somebody-else-tries",
    "solr": "marked-6-solr/password",
    "marker": "marked7markerOfTheAccessLog",
    "token": "marked-8-token-of-cdap",
    "notify": "marked-9-notify/secret-of-the-hint",
}

SETTINGS = """
[ranger]
url = "{url}"
service = "cdapdev"
attempts = 1

[plugin]
username = "cdapplugin"
password = "file:{secrets}/plugin"
cache_dir = "{left}/cache"

[audit]
sinks = ["file", "solr", "log"]
file = "{left}/audit.jsonl"
solr_url = "http://127.0.0.1:1/solr"
solr_username = "solr"
solr_password = "env:SOLR"
spool_dir = "{left}/spool"

[service]
port = 0
events_dir = "{left}/events"

[[service.callers]]
name = "cdap-enforce"
roles = ["enforce", "delegate"]
secret = "file:{secrets}/caller"

[sync]
username = "cdapsync"
password = "file:{secrets}/sync"
state_dir = "{left}/sync"

[[sync.sources]]
name = "router"
kind = "http-access"
path = "{left}/access"
marker = "file:{secrets}/marker"

[[sync.notify]]
url = "http://127.0.0.1:1"
caller = "cdap-sync"
secret = "file:{secrets}/notify"
"""


def forms(secret: str) -> set[bytes]:
    """The secret as it is, and as it travels."""
    users = ("admin", "cdapplugin", "cdapsync", "cdap-enforce", "cdap-sync", "solr")
    basic = {base64.b64encode(f"{user}:{secret}".encode()) for user in users}
    return {secret.encode(), quote(secret, safe="").encode(), base64.b64encode(secret.encode()), *basic}


class Run:
    """The commands of the run, and all they have printed."""

    def __init__(self, directory: Path, url: str) -> None:
        self.left = directory / "left"
        self.left.mkdir()
        self._secrets = directory / "secrets"
        self._secrets.mkdir(mode=0o700)
        for name, secret in SECRETS.items():
            (self._secrets / name).write_text(secret)
            (self._secrets / name).chmod(0o600)
        self.settings = directory / "ranger-cdap.toml"
        self.settings.write_text(SETTINGS.format(url=url, secrets=self._secrets, left=self.left))
        self._environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.left),
            "RANGER_CDAP_CONFIG": str(self.settings),
            "RANGER_CDAP_DEBUG": "1",
            "RANGER_CDAP_SETUP_PASSWORD": SECRETS["admin"],
            "SOLR": SECRETS["solr"],
            "WRONG": SECRETS["wrong"],
        }
        self.printed = b""

    def secret(self, name: str) -> Path:
        return self._secrets / name

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "ranger_cdap", *arguments],
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def command(self, *arguments: str) -> int:
        process = self._start(*arguments)
        self.printed += b"".join(Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0"))
        self.printed += process.communicate(timeout=60)[0]
        return process.returncode

    @contextmanager
    def serving(self) -> Iterator[tuple[str, int]]:
        process = self._start("serve")
        assert process.stdout is not None
        try:
            said = b""
            while not (found := re.search(rb"listening on http://([\d.]+):(\d+);", said)):
                line = process.stdout.readline()
                assert line, said
                said += line
            self.printed += said + Path(f"/proc/{process.pid}/cmdline").read_bytes()
            yield found[1].decode(), int(found[2])
        finally:
            process.terminate()
            self.printed += process.communicate(timeout=60)[0]

    def everything(self) -> Iterator[tuple[str, bytes]]:
        yield "what was printed", self.printed
        for path in self.left.rglob("*"):
            yield str(path.relative_to(self.left)), str(path).encode()
            if path.is_file():
                yield str(path.relative_to(self.left)), path.read_bytes()


def ask(address: tuple[str, int], secret: str, path: str, body: str | None) -> tuple[int, bytes]:
    proof = base64.b64encode(f"cdap-enforce:{secret}".encode()).decode()
    headers = {"Authorization": f"Basic {proof}", "Content-Type": "application/json"}
    with closing(http.client.HTTPConnection(*address, timeout=30)) as connection:
        connection.request("POST" if body else "GET", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def fill(url: str) -> None:
    with RangerAdmin.connect(Settings(ranger=RangerSettings(url=url)), "admin", Secret(SECRETS["admin"])) as admin:
        for name in ("plugin", "sync"):
            admin.create_user(f"cdap{name}", Secret(SECRETS[name]))
        admin.create_user("alice", Secret(SECRETS["plugin"]))
        wanted = DesiredState("cdapdev", "cdap", plugin_account="cdapplugin", sync_account="cdapsync")
        service_setup.set_up(admin, wanted)
        for levels in (("ns1",), ("ns1", "kv")):
            named = dict(zip(("instance", "namespace", "dataset"), ("cdap", *levels), strict=False))
            admin.create_policy(
                Policy(
                    service="cdapdev",
                    name=".".join(levels),
                    resources={level: PolicyResource(values=[value]) for level, value in named.items()},
                    policy_items=[PolicyItem(users=["alice"], accesses=[PolicyItemAccess(type="read")])],
                )
            )


ENFORCE = (
    '{"principal":{"name":"alice"},"entity":{"type":"DATASET","parts":["ns1","kv"]},"permissions":["STANDARD.GET"]}'
)


@pytest.mark.slow
def test_no_secret_is_found_in_anything_a_run_leaves_behind(tmp_path: Path) -> None:
    with EmbeddedAdmin(tmp_path / "ranger.db", admin_password=SECRETS["admin"]) as ranger:
        fill(ranger.url)
        run = Run(tmp_path, ranger.url)
        assert run.command("setup", "--yes") == 0
        assert run.command("config") == 0
        assert run.command("config", "--json") == 0
        assert run.command("check", "alice", "dataset.get", "dataset:ns1.kv") == 0
        assert run.command("check", "--why", "alice", "dataset.get", "dataset:ns1.kv") == 0
        assert run.command("policies", "export", "--out", str(run.left / "policies.json")) == 0
        run.command("doctor")
        refused = run.command(
            "--set", "plugin.password=env:WRONG", "--set", f"plugin.cache_dir={run.left}/other", "doctor"
        )
        assert refused == 2
        assert run.command("--set", f"plugin.password={SECRETS['wrong']}"[:16], "check", "a", "b", "c") == 3
        token = ["--token-file", str(run.secret("token")), "--out", str(run.left / "inventory.jsonl")]
        assert run.command("sync", "inventory", "--url", "http://127.0.0.1:1", *token) == 1
        with run.serving() as address:
            assert ask(address, SECRETS["caller"], "/cdap/v1/enforce", ENFORCE)[0] == 200
            for path, body in (("/cdap/v1/enforce", ENFORCE), ("/openapi.json", None)):
                status, said = ask(address, SECRETS["stranger"], path, body)
                run.printed += said
                assert status == 401
            for path in ("/metrics", "/openapi.json"):
                status, said = ask(address, SECRETS["caller"], path, None)
                run.printed += said
                assert status == 200
            until = time.monotonic() + 20
            while not (run.left / "audit.jsonl").exists() and time.monotonic() < until:
                time.sleep(0.05)

    found = {
        (name, where)
        for where, content in run.everything()
        for name, secret in SECRETS.items()
        for form in forms(secret)
        if form in content
    }
    assert found == set()
    places = {where.split("/")[0] for where, _ in run.everything()}
    assert {"what was printed", "cache", "audit.jsonl", "spool", "policies.json"} <= places
    assert b"alice" in run.printed
    assert SECRETS["admin"].encode() not in (tmp_path / "ranger.db").read_bytes()


@pytest.mark.slow
def test_a_secret_that_was_left_somewhere_would_be_found(tmp_path: Path) -> None:
    run = Run(tmp_path, "http://127.0.0.1:1")
    (run.left / "cache").mkdir()
    (run.left / "cache" / "file").write_bytes(b"x" + base64.b64encode(b"cdapplugin:" + SECRETS["plugin"].encode()))
    assert any(form in content for _, content in run.everything() for form in forms(SECRETS["plugin"]))
