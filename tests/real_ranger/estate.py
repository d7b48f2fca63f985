"""What a flow may use of a Ranger Admin: names of its own, REST as any user, our commands, and removal of all it made.

Law: after `clean` the server has what it had before, so a real one that others use keeps nothing of a test.
"""

from __future__ import annotations

import os
import re
import secrets
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from msgspec.structs import replace

from ranger_cdap.cli.main import main
from ranger_cdap.config import Secret, Settings, load_settings
from ranger_cdap.engine import AccessRequest
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher, Snapshot
from servicedef import service_definition

Json = dict[str, Any]

V2: Final = "/service/public/v2/api"
USERS: Final = "/service/xusers"
ACCOUNTS: Final = ("plugin", "sync", "bridge")
PASSWORD: Final = Secret("Correct-horse-7")
"""That of every user a flow makes."""

_PAGE: Final = 200
# What each save, and each change of something else, raises or sets.
_VOLATILE: Final = frozenset(
    {
        *("version", "policyVersion", "tagVersion", "createTime", "updateTime", "createDate", "updateDate"),
        *("policyUpdateTime", "tagUpdateTime", "updatedBy"),
    }
)
# The lists of a server: path, and the member with the rows where the answer is no list.
LISTS: Final = {
    "definitions": (f"{V2}/servicedef", ""),
    "services": (f"{V2}/service", ""),
    "policies": (f"{V2}/policy", ""),
    "roles": (f"{V2}/roles", ""),
    "zones": (f"{V2}/zones", ""),
    "users": (f"{USERS}/users", "vXUsers"),
    "groups": (f"{USERS}/groups", "vXGroups"),
}


@dataclass(frozen=True)
class Address:
    """Where a Ranger Admin is, and who administers it."""

    url: str
    user: str
    password: Secret

    @property
    def host(self) -> str:
        """Its host, which is reached without TLS."""
        return urlsplit(self.url).hostname or ""


def address_of_environment() -> Address:
    """The real Ranger Admin that the variables RANGER_URL, RANGER_USER and RANGER_PASSWORD name."""
    user, password = os.environ.get("RANGER_USER", "admin"), Secret(os.environ["RANGER_PASSWORD"])
    return Address(os.environ["RANGER_URL"].rstrip("/"), user, password)


@dataclass
class Estate:
    """A part of a Ranger Admin: all that a flow makes there begins with `rcdap` and a number nobody else has."""

    address: Address
    directory: Path
    token: str = field(default_factory=lambda: f"rcdap{secrets.token_hex(4)}")
    begun_with: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.begun_with = {kind: {row["name"] for row in self.listed(kind)} for kind in ("definitions", "services")}

    @property
    def service(self) -> str:
        """The service of the flow."""
        return self.token

    def name(self, what: str) -> str:
        """A name of the flow's own."""
        return f"{self.token}_{what}"

    # REST

    def ask(self, method: str, path: str, body: Any = None, *, by: str = "", **headers: str) -> tuple[int, Any]:
        """Send a request as the administrator, or as a user of the flow; status, and the body as JSON or None."""
        user, password = (by, PASSWORD) if by else (self.address.user, self.address.password)
        with requests.Session() as session:
            session.trust_env = False  # no proxy, no .netrc
            answer = session.request(
                method,
                self.address.url + path,
                json=body,
                auth=(user, password.reveal()),
                headers={"Accept": "application/json"} | headers,
                timeout=60,
            )
        return answer.status_code, answer.json() if answer.text[:1] in ("{", "[") else None

    def done(self, method: str, path: str, body: Any = None, *, by: str = "") -> Any:
        """Send a request that must succeed."""
        status, answer = self.ask(method, path, body, by=by)
        assert status in (200, 204), (method, path, status, answer)
        return answer

    def listed(self, kind: str) -> list[Json]:
        """All rows of a list, page by page."""
        path, member = LISTS[kind]
        rows: dict[Any, Json] = {}
        while True:
            answer = self.done("GET", f"{path}?startIndex={len(rows)}&pageSize={_PAGE}")
            new = {row["id"]: row for row in (answer.get(member, []) if member else answer) if row["id"] not in rows}
            if not new:
                return list(rows.values())
            rows |= new

    def state(self) -> dict[str, list[Json]]:
        """All there is, without what every change alters."""
        kinds = {kind: sorted(self.listed(kind), key=lambda row: row["id"]) for kind in LISTS}
        found = {kind: [_lasting(row) for row in rows] for kind, rows in kinds.items()}
        for definition in found["definitions"]:  # Ranger answers its resources in no fixed order
            definition["resources"].sort(key=lambda resource: resource["name"])
        zones = [zone["name"] for zone in found["zones"]]
        for zone in zones:
            found["policies"] += map(_lasting, self.done("GET", f"{V2}/policy?zoneName={zone}&pageSize=10000"))
        return found | {"tags": [{"types": self.tag_types()}]}

    def tag_types(self) -> list[str]:
        """The names of all types of tags."""
        return sorted(self.done("GET", "/service/tags/types"))

    def versions(self) -> dict[str, int]:
        """The versions of the flow's service and its policies: any write raises one."""
        service = self.done("GET", f"{V2}/service/name/{self.service}")
        policies = self.admin.policy_documents(self.service)
        return {"policies": service["policyVersion"], "service": service["version"]} | {
            f"policy {policy['id']}": policy["version"] for policy in policies
        }

    def policies(self) -> dict[str, Json]:
        """The policies of the service by name, without what every change alters."""
        return {policy["name"]: _lasting(policy) for policy in self.admin.policy_documents(self.service)}

    # Our commands

    @cached_property
    def admin(self) -> RangerAdmin:
        """Our client, as the administrator."""
        return self.client(self.address.user, self.address.password)

    def client(self, user: str, password: Secret = PASSWORD) -> RangerAdmin:
        """Our client, as a user."""
        url = self.address.url
        return RangerAdmin(
            AdminConnection(url, username=user, password=password, attempts=1, plain_hosts=(self.address.host,))
        )

    @cached_property
    def config(self) -> Path:
        """The configuration file of the flow."""
        accounts = {what: f'username = "{self.user(what)}"\npassword = "{PASSWORD.reveal()}"\n' for what in ACCOUNTS}
        path = self.directory / "ranger-cdap.toml"
        path.touch(mode=0o600)
        path.write_text(
            f'[ranger]\nurl = "{self.address.url}"\nservice = "{self.service}"\nattempts = 1\n'
            f'[network]\nplain_hosts = ["{self.address.host}"]\n'
            f'[plugin]\n{accounts["plugin"]}cache_dir = "{self.directory}/cache"\n'
            f"[sync]\n{accounts['sync']}"
            f'[service]\nport = 0\ngrants = "bridge"\nevents_dir = "{self.directory}/events"\n'
            f'bridge_username = "{self.name("bridge")}"\nbridge_password = "{PASSWORD.reveal()}"\n'
            f'[audit]\nfile = "{self.directory}/audit.jsonl"\nspool_dir = "{self.directory}/spool"\n'
        )
        return path

    @property
    def settings(self) -> Settings:
        """The settings of that file."""
        return load_settings(self.config, {})

    def command(self, *words: str) -> list[str]:
        """The words of a command of ours, as the administrator where it changes Ranger."""
        as_administrator = not {"setup", "policies", "roles"}.isdisjoint(words)
        return ["--config", str(self.config), *words, *["--ranger-user", self.address.user] * as_administrator]

    def run(self, *words: str) -> int:
        """Run a command of ours; its exit code."""
        return main(self.command(*words))

    def set_up(self, **configs: str) -> None:
        """Set up the service by `ranger-cdap setup`; `configs` are set besides, with `_` for `.`."""
        assert self.run("setup", "--yes") == 0
        service = self.done("GET", f"{V2}/service/name/{self.service}")
        more = {"policy.grantrevoke.auth.users": self.name("bridge")} | {
            key.replace("_", "."): value for key, value in configs.items()
        }
        self.done("PUT", f"{V2}/service/{service['id']}", service | {"configs": service["configs"] | more})

    def plugin(self, cache: str = "cache") -> PolicyRefresher:
        """Our plugin, with the rights it has in production."""
        return PolicyRefresher(self.client(self.user("plugin")), _with_cache(self.settings, self.directory / cache))

    def may(self, plugin: PolicyRefresher, user: str, access: str, **levels: str) -> bool:
        """Whether the plugin allows it by what it downloads now."""
        return allows(plugin.refresh(), user, access, **levels)

    # What there is for a flow

    def user(self, what: str, *groups: str) -> str:
        """A user of the flow, made if missing, in these groups of the flow."""
        name = self.name(what)
        if not self.admin.user_exists(name):
            self.admin.create_user(name, PASSWORD)
        user_id = self.done("GET", f"{USERS}/users/userName/{name}")["id"] if groups else 0
        for group in groups:
            self.done("POST", f"{USERS}/groupusers", {"name": self.group(group), "userId": user_id})
        return name

    def group(self, what: str) -> str:
        """A group of the flow, made if missing."""
        name = self.name(what)
        if not self.admin.group_exists(name):
            self.done("POST", f"{USERS}/secure/groups", {"name": name})
        return name

    def tag_service(self) -> str:
        """A tag service of the flow, which its service is linked to: nobody else's has policies of the flow."""
        name = self.name("tags")
        self.done("POST", f"{V2}/service", {"name": name, "type": "tag", "isEnabled": True, "configs": {}})
        service = self.done("GET", f"{V2}/service/name/{self.service}")
        self.done("PUT", f"{V2}/service/{service['id']}", service | {"tagService": name})
        return name

    def clean(self) -> None:
        """Remove all that the flow made; the definition and the service `tag` only if they were not there before."""
        self.begin_again()
        for kind in ("users", "groups"):
            for row in self._own(kind):
                self.done("DELETE", f"{USERS}/secure/{kind}/{row['name']}?forceDelete=true")
        self.admin.close()

    def begin_again(self) -> None:
        """Remove all but the users and groups."""
        for zone in self._own("zones"):
            self.done("DELETE", f"{V2}/zones/{zone['id']}")
        side_effect = [] if "tag" in self.begun_with["services"] else ["tag"]
        own = [row for row in self.listed("services") if self._is_own(row) or row["name"] in side_effect]
        for service in sorted(own, key=lambda row: row["type"] == "tag"):
            self.done("DELETE", f"{V2}/service/{service['id']}")
        self._clean_tag_types()
        self._clean_roles()
        ours = service_definition()["name"]
        if ours not in self.begun_with["definitions"] and self.admin.get_service_def(ours):
            self.done("DELETE", f"{V2}/servicedef/name/{ours}")

    def _own(self, kind: str) -> list[Json]:
        return [row for row in self.listed(kind) if self._is_own(row)]

    def _is_own(self, row: Json) -> bool:
        return re.fullmatch(rf"{self.token}(_.*)?", row["name"]) is not None

    def _clean_roles(self) -> None:
        """A role in another one is deleted after that one."""
        own = self._own("roles")
        while own:
            outer = [role for role in own if not any(role["name"] in members(other) for other in own)]
            for role in outer:
                self.done("DELETE", f"{V2}/roles/{role['id']}")
            own = [role for role in own if role not in outer]

    def _clean_tag_types(self) -> None:
        """A real Ranger Admin keeps a type of tags without a service that uses it; the embedded one does not."""
        for name in self.tag_types():
            if name.startswith(self.token):
                found = self.done("GET", f"/service/tags/tagdef/name/{name}")
                self.done("DELETE", f"/service/tags/tagdef/{found['id']}")


def allows(snapshot: Snapshot, user: str, access: str, **levels: str) -> bool:
    """Whether policies that were downloaded allow it now."""
    assert snapshot.engine is not None
    resource, groups, now = {"instance": "cdap", **levels}, snapshot.groups_of(user), int(time.time() * 1000)
    return snapshot.engine.evaluate(AccessRequest(resource, access, user, groups, access_time=now)).allowed


def members(role: Json) -> set[str]:
    """The names of the roles in a role."""
    return {member["name"] for member in role.get("roles", ())}


def _lasting(row: Json) -> Json:
    return {name: value for name, value in row.items() if name not in _VOLATILE}


def _with_cache(settings: Settings, directory: Path) -> Settings:
    return replace(settings, plugin=replace(settings.plugin, cache_dir=directory))
