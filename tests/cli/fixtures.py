"""Policies of a small company as the files a person names on the command line."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import servicedef

Json = dict[str, Any]


def item(*accesses: str, **who: Any) -> Json:
    return {**who, "accesses": [{"type": access} for access in accesses]}


def policy(number: int, levels: dict[str, str], *items: Json, name: str = "", **more: Any) -> Json:
    resources = {level: {"values": [value]} for level, value in {"instance": "cdap", **levels}.items()}
    return {
        "id": number,
        "version": 3,
        "name": name or f"p{number}",
        "resources": resources,
        "policyItems": list(items),
        **more,
    }


def dataset(name: str) -> dict[str, str]:
    return {"namespace": "ns1", "dataset": name}


COMPANY = (
    policy(1, {"namespace": "ns1"}, item("read", "write", groups=["etl"]), name="readers of ns1"),
    policy(
        2,
        dataset("kv"),
        item("read", "write", users=["alice"]),
        item("read", groups=["etl"]),
        name="kv",
        denyPolicyItems=[item("read", users=["mallory"])],
        allowExceptions=[item("read", users=["eve"])],
    ),
    policy(3, dataset("*"), item("read", "write", "admin", "execute", users=["ann"]), item("admin", roles=["ops"])),
    policy(4, dataset("secret"), item("read", users=["ann"]), name="closed", isDenyAllElse=True),
    policy(
        5,
        dataset("day"),
        item("read", users=["bob"], conditions=[{"type": "ip-range", "values": ["10.0.0.1"]}]),
        name="by day",
    ),
    policy(
        6,
        dataset("bo*"),
        item("read", users=["mallory"]),
        denyPolicyItems=[item("read", users=["x"]), item("read", groups=["etl"])],
    ),
    policy(7, dataset("both"), item("admin", users=["ann"]), denyPolicyItems=[item("read", users=["mallory"])]),
)
ROLES = {"rangerRoles": [{"name": "ops", "users": [{"name": "olga"}], "groups": [{"name": "oncall"}]}]}
USERS = {"userGroupMapping": {"carol": ["etl"], "dan": ["oncall"], "zoe": ["sales"]}}


def download(policies: Sequence[Json], **more: Any) -> Json:
    """A document of its own: a test may change what is in it, and other tests have the same policies."""
    document = {"serviceName": "cdapdev", "policyVersion": 7, "policies": list(policies), **more}
    return {"serviceDef": servicedef.service_definition(), **copy.deepcopy(document)}


def named(folder: Path, policies: Sequence[Json] = COMPANY) -> list[str]:
    """The options that name the files of this company."""
    contents = {"policies": download(policies), "roles": ROLES, "userstore": USERS}
    for name, content in contents.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return ["--policies", ",".join(str(folder / f"{name}.json") for name in contents)]
