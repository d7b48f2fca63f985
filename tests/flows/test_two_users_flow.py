"""From CDAP's records to grants, with the decision service and the sync job as two real users of this machine."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ranger_cdap.config import RangerSettings, Secret, Settings
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.other_users import GROUP, SERVICE, SYNC, People, only_root, people
from tests.short_lived_java import QUICK_JAVA

PASSWORD = Secret("Two-Users-Passw0rd")
RANGER_SERVICE = "cdapdev"
PROCESS = "2e" * 16

pytestmark = [pytest.mark.slow, *only_root]


@pytest.fixture
def ranger() -> Iterator[tuple[str, RangerAdmin]]:
    """A Ranger Admin with our service, in which alice may create datasets in ns1."""
    with (
        EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server,
        RangerAdmin.connect(Settings(ranger=RangerSettings(url=server.url)), "admin", PASSWORD) as admin,
    ):
        for name in ("plugin", "sync", "alice"):
            admin.create_user(name, PASSWORD)
        wanted = DesiredState(RANGER_SERVICE, "cdap", plugin_account="plugin", sync_account="sync")
        service_setup.set_up(admin, wanted)
        admin.create_policy(
            Policy(
                service=RANGER_SERVICE,
                name="alice works in ns1",
                resources={"instance": PolicyResource(values=["cdap"]), "namespace": PolicyResource(values=["ns1"])},
                policy_items=[
                    PolicyItem(users=["alice"], accesses=[PolicyItemAccess(type=kind) for kind in ("read", "write")])
                ],
            )
        )
        yield server.url, admin


def configure(place: Path, users: People, url: str) -> Path:
    """What both programs read, with the secrets of each for its user alone."""
    for name, owner, text in (
        ("plugin", SERVICE, PASSWORD.reveal()),
        ("enforce", SERVICE, "enforce-secret-0123456789"),
        ("audit", SERVICE, "audit-secret-0123456789"),
        ("sync", SYNC, PASSWORD.reveal()),
    ):
        (place / name).write_text(text, encoding="utf-8")
        users.give(place / name, owner, 0o600)
    config = place / "ranger-cdap.toml"
    config.write_text(
        f"""\
ranger = {{ url = "{url}", service = "{RANGER_SERVICE}", attempts = 1 }}
plugin = {{ username = "plugin", password = "file:{place}/plugin", cache_dir = "{place}/var-service/cache" }}
audit = {{ sinks = [] }}
[service]
port = 0
events_dir = "{place}/var-service/events"
events_group = "{GROUP}"
[[service.callers]]
name = "enforce"
roles = ["enforce"]
secret = "file:{place}/enforce"
[[service.callers]]
name = "audit"
roles = ["audit"]
secret = "file:{place}/audit"
[sync]
username = "sync"
password = "file:{place}/sync"
state_dir = "{place}/var-sync/state"
[[sync.sources]]
name = "data-plane"
kind = "data-plane"
path = "{place}/var-service/events"
callers = ["audit"]
""",
        encoding="utf-8",
    )
    config.chmod(0o644)
    return config


@contextmanager
def serving(users: People, config: Path) -> Iterator[str]:
    """The decision service as its user; gives its address."""
    with users.popen(SERVICE, *users.ranger_cdap("--config", str(config), "serve", "--quiet")) as process:
        assert process.stdout is not None
        try:
            said = process.stdout.readline()
            found = re.search(r"http://127\.0\.0\.1:\d+", said)
            assert found, process.communicate()
            yield found[0]
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)


def post(url: str, caller: str, path: str, body: Any) -> Any:
    credentials = base64.b64encode(f"{caller}:{caller}-secret-0123456789".encode()).decode()
    headers = {"Authorization": f"Basic {credentials}", "Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url + path, json.dumps(body).encode(), headers)) as answer:
        return json.loads(answer.read())


def creates(url: str, dataset: str, number: int) -> None:
    """Alice creates a dataset, as CDAP's extension tells of it: the check, and then what CDAP answered."""
    at = time.time_ns() // 1_000_000
    stamp = {"id": f"{number:032x}", "process": PROCESS, "at": at}
    question = {
        "principal": {"name": "alice"},
        "entity": {"type": "DATASET", "parts": ["ns1", dataset]},
        "permissions": ["STANDARD.CREATE"],
        "hint": "DatasetInstanceService.create DatasetInstanceHandler.create",
        "check": stamp,
    }
    assert post(url, "enforce", "/cdap/v1/enforce", question)["allowed"]
    check = {
        "principal": "alice",
        "kerberos": None,
        "type": "DATASET",
        "parts": ["ns1", dataset],
        "permissions": ["STANDARD.CREATE"],
        "allowed": True,
        **stamp,
    }
    record = {
        "v": 2,
        "instance": "cdap",
        "method": "PUT",
        "uri": f"/v3/namespaces/ns1/data/datasets/{dataset}",
        "handler": "DatasetInstanceHandler.create",
        "code": 200,
        "user_ip": "10.1.2.3",
        "started": at - 1,
        "ended": time.time_ns() // 1_000_000 + 1,
        "checks": [check],
    }
    assert post(url, "audit", "/cdap/v1/audit", {"records": [record]}) == {"stored": 1, "refused": []}


def until_decidable(events: Path, since: int) -> None:
    """Until the watermark has passed what was sent before."""
    deadline = time.monotonic() + 30
    while json.loads((events / ".watermark").read_text(encoding="utf-8"))["watermark"] <= since:
        assert time.monotonic() < deadline, "the watermark is not renewed"
        time.sleep(0.05)


def test_a_creation_becomes_a_grant_and_each_user_has_only_its_own(ranger: tuple[str, RangerAdmin]) -> None:
    url, admin = ranger
    with people() as users:
        place = users.directory / "host"
        place.mkdir()
        place.chmod(0o755)
        for name, owner, mode in (("var-service", SERVICE, 0o711), ("var-sync", SYNC, 0o700)):
            (place / name).mkdir()
            users.give(place / name, owner, mode)
        config = configure(place, users, url)
        events, state = place / "var-service" / "events", place / "var-sync" / "state"
        environment = {**QUICK_JAVA, "PYSPARK_PYTHON": users.python, "TMPDIR": str(users.home(SYNC))}

        def sync(*arguments: str) -> str:
            command = users.ranger_cdap("--config", str(config), "sync", *arguments)
            ended, said, told = users.run(SYNC, *command, env=environment)
            assert ended == 0, (said, told)
            return said

        with serving(users, config) as service:
            taken = time.time_ns() // 1_000_000
            inventory = place / "inventory.jsonl"
            inventory.write_text(
                f'{{"v":1,"instance":"cdap","taken":"{datetime.fromtimestamp(taken / 1000, UTC).isoformat()}"}}\n'
                '{"type":"namespace","parts":["ns1"]}\n{"type":"dataset","parts":["ns1","old"]}\n',
                encoding="utf-8",
            )
            until_decidable(events, taken)
            sync("baseline", "--inventory", str(inventory))
            creates(service, "purchases", 1)
            until_decidable(events, time.time_ns() // 1_000_000)
            report = json.loads(sync("run", "--json"))
        assert [life["entity"] for life in report["granted"]] == ["dataset:ns1.purchases"], report
        (grant,) = [policy for policy in admin.list_policies(RANGER_SERVICE) if "dataset" in policy.resources]
        assert [item.users for item in grant.policy_items] == [["alice"]]

        (file, *_) = sorted(events.glob("*.jsonl"))
        before = {path.name: path.read_bytes() for path in events.iterdir() if path.is_file()}
        for attack in (
            "(p[0] / '999-x.jsonl').write_bytes(b'{}')",
            "p[1].open('ab').write(b'{}')",
            "p[1].rename(p[0] / 'other')",
            "p[1].unlink()",
            "(p[0] / '.watermark').unlink()",
            "os.listdir(p[0] / '.incoming')",
        ):
            assert not users.can(SYNC, attack, events, file), attack
        assert {path.name: path.read_bytes() for path in events.iterdir() if path.is_file()} == before
        for attack in ("os.listdir(p[0])", "(p[0] / 'ledger').stat()", "p[0].rename(p[0].parent / 'x')"):
            assert not users.can(SERVICE, attack, state), attack
        for name in ("plugin", "enforce", "audit"):
            assert not users.can(SYNC, "p[0].read_bytes()", place / name)
        assert not users.can(SERVICE, "p[0].read_bytes()", place / "sync")
        owners = {path.stat().st_uid for path in (state, *state.rglob("*"))}
        assert owners == {state.stat().st_uid} != {os.geteuid()}
