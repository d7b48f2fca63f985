"""Sets of policies for the console: files that commands read, and a service in which they are in effect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ranger_cdap.engine import EngineOptions
from ranger_cdap.policies.refresh.fixed import FixedPolicies, documents
from ranger_cdap.policies.refresh.policy_refresher import Snapshot
from tests.cli.fixtures import COMPANY, ROLES, USERS, download, item, policy
from tests.service.fixtures import World

Json = dict[str, Any]
HOSTILE_NAME = "ana<b onclick='x'>\u202e|\x1b[2J\n&amp;"

FILES = {"policies": "policies.json", "roles": "roles.json", "tags": "tags.json", "userstore": "users.json"}


@dataclass(frozen=True)
class Estate:
    """A directory with the downloads of a service."""

    folder: Path
    service: str = "cdapdev"

    @property
    def arguments(self) -> list[str]:
        """Options of a command that reads them."""
        there = ((name, self.folder / file) for name, file in FILES.items() if (self.folder / file).exists())
        return [argument for name, path in there for argument in (f"--{name}", str(path))]

    def snapshot(self) -> Snapshot:
        """The same in effect."""
        read = {name: (self.folder / f).read_bytes() for name, f in FILES.items() if (self.folder / f).exists()}
        found = documents(read["policies"], read.get("roles"), read.get("tags"), read.get("userstore"))
        return FixedPolicies.of(found, service=self.service, options=EngineOptions()).snapshot

    def takes_effect(self, world: World) -> Estate:
        world.becomes(self.snapshot())
        return self


def estate_of(folder: Path, policies: list[Json], **more: Mapping[str, Any]) -> Estate:
    """Write downloads: `roles`, `tags` and `userstore` are given whole."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in {"policies": download(policies), **more}.items():
        (folder / FILES[name]).write_text(json.dumps(content), encoding="utf-8")
    return Estate(folder)


def company(folder: Path) -> Estate:
    """Denials, exceptions, roles, conditions, patterns."""
    return estate_of(folder, list(COMPANY), roles=ROLES, userstore=USERS)


def hostile(folder: Path, name: str = HOSTILE_NAME) -> Estate:
    """Policies, users, groups and roles of a hostile name; the control characters are refused in no download."""
    conditions = [{"type": "ip-range", "values": ["10.0.0.1"]}]
    policies = [
        policy(1, {"namespace": "ns1"}, item("read", groups=[name]), name=name),
        policy(2, {"namespace": "ns1", "dataset": "kv"}, item("read", users=[name], roles=[name]), name=name),
        policy(
            3,
            {"namespace": "ns1", "dataset": "*"},
            item("read", users=["alice"], groups=[name], conditions=conditions),
            name=f"{name} 3",
            denyPolicyItems=[item("write", users=[name]), item("read", users=["alice"], conditions=conditions)],
        ),
        policy(4, {"namespace": "ns1", "dataset": "kv"}, item(name, users=["alice"]), name=f"{name} 4"),
    ]
    roles = {"rangerRoles": [{"id": 1, "name": name, "users": [{"name": name}], "groups": [{"name": name}]}]}
    users = {"userStoreVersion": 1, "userGroupMapping": {name: [name], "alice": [name]}}
    return estate_of(folder, policies, roles=roles, userstore=users)
