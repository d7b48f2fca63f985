"""A service with workers as processes of its own, over a Ranger Admin in which alice may do everything in ns3."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ranger_cdap.embedded_admin import EmbeddedAdmin
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from tests.service.event_samples import stamp
from tests.service.serve_process import SERVICE, Served, configuration, ranger_admin, serve, until

WORKERS = 2
CREATE = "STANDARD.CREATE"


@contextmanager
def ranger() -> Iterator[tuple[EmbeddedAdmin, RangerAdmin]]:
    with ranger_admin() as (server, admin):
        for levels in ({"namespace": "ns3"}, *({"namespace": "ns3", kind: "*"} for kind in ("dataset", "application"))):
            allow(admin, "alice", **levels)
        yield server, admin


def allow(admin: RangerAdmin, user: str, **levels: str) -> Policy:
    """A policy by which a user may do everything."""
    resources = {name: PolicyResource(values=[value]) for name, value in {"instance": "cdap", **levels}.items()}
    accesses = [PolicyItemAccess(type=each) for each in ("read", "write", "admin", "execute")]
    item = PolicyItem(users=[user], accesses=accesses)
    name = f"{user} on {'.'.join(levels.values())} {len(levels)} {sorted(levels)}"
    return admin.create_policy(Policy(service=SERVICE, name=name, resources=resources, policy_items=[item]))


@contextmanager
def serve_workers(directory: Path, ranger_url: str, **changes: str) -> Iterator[Served]:
    """The service; at the end no worker may be left."""
    config = configuration(directory, ranger_url, **({"service__workers": str(WORKERS)} | changes))
    with serve(config, directory) as served:
        until(lambda: served.ask(None, "GET", "/health/live").status == 200)
        until(lambda: len(workers(served)) == WORKERS)
        yield served


def workers(served: Served) -> list[int]:
    """The process ids of the workers."""
    listed = subprocess.run(
        ["ps", "--ppid", str(served.process.pid), "-o", "pid=,args="], capture_output=True, text=True, check=False
    )
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if "workers.worker" in line]


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def check(user: str, kind: str, *parts: str, permission: str = "STANDARD.GET", number: int = 0, **more: Any) -> Any:
    """A check of a user; with a number it is stamped, and so to be journalled if it creates."""
    asked = {
        "principal": {"name": user},
        "entity": {"type": kind, "parts": list(parts)},
        "permissions": [permission],
        **more,
    }
    return asked | ({"check": stamp(number), "hint": "DatasetInstanceService.create"} if number else {})


def enforce(served: Served, asked: Any) -> Any:
    answer = served.ask("enforce", "POST", "/cdap/v1/enforce", asked)
    assert answer.status == 200, answer.body
    return answer.json


def version(served: Served) -> int:
    found: int = served.ask("refresh", "GET", "/cdap/v1/policies").json["version"]
    return found
