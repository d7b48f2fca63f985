"""A console over policies written in few words, on a real socket; and sets of policies that commands read, too."""

from __future__ import annotations

import html.parser
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pluggy
from msgspec import structs

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.config import ServiceSettings, Settings
from ranger_cdap.console.app import create_app
from ranger_cdap.console.questions import Questions
from ranger_cdap.console.views import Views
from ranger_cdap.engine import EngineOptions
from ranger_cdap.ranger.refresh.fixed import FixedPolicies, documents
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.service.http.callers import Callers
from ranger_cdap.service.http.server import HttpServer
from tests.authz.fixtures import FixedPolicies as Policies
from tests.authz.fixtures import Memory, authorizer
from tests.authz.fixtures import document as download_of
from tests.cli.fixtures import COMPANY, ROLES, USERS, download, item, policy
from tests.service.fixtures import CALLERS, Answer, Site

Json = dict[str, Any]
HOSTILE_NAME = "ana<b onclick='x'>\u202e|\x1b[2J\n&amp;"

FILES = {"policies": "policies.json", "roles": "roles.json", "tags": "tags.json", "userstore": "users.json"}


@dataclass
class ConsoleWorld(Site):
    """A running console; `memory` would hold audit records."""

    authorizer: Authorizer
    memory: Memory
    restarts: list[str]

    def becomes(self, snapshot: Snapshot) -> None:
        """What the refresher holds is another now."""
        self.authorizer.decider.policies.snapshot = snapshot  # type: ignore[misc]


@contextmanager
def serving(
    policies: list[Json],
    *,
    plugins: pluggy.PluginManager | None = None,
    ranger_ui: str = "https://ranger.example.org",
    max_seconds: float = 60.0,
    max_wait: float = 60.0,
    **service: Any,
) -> Iterator[ConsoleWorld]:
    """A console over these policies; `service` are settings of it."""
    given: dict[str, Any] = {"port": 0, "callers": CALLERS, **service}
    settings = Settings(service=ServiceSettings(**given))
    memory, restarts = Memory(), list[str]()
    asked = authorizer(policies, memory, plugins=plugins)
    held = asked.decider.policies
    assert isinstance(held, Policies)
    held.snapshot = structs.replace(held.snapshot, documents=documents(json.dumps(download_of(policies)).encode()))
    server = HttpServer(settings.service)
    questions = Questions(lambda: restarts.append("again"), max_seconds, max_wait)
    server.start(
        create_app(settings.service, Callers.of(settings.service), Views(asked, settings, ranger_ui, questions))
    )
    try:
        yield ConsoleWorld(server.url, asked, memory, restarts)
    finally:
        server.stop()


class Page(html.parser.HTMLParser):
    """What a browser makes of it: elements, links, form values by name, and the text."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.status = answer.status
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._texts: list[str] = []
        self.feed(answer.body.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._texts.append("" if tag in ("a", "code", "span", "strong") else " ")

    def handle_data(self, data: str) -> None:
        self._texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self._texts).split())

    @property
    def links(self) -> dict[str, None]:
        return {attributes["href"]: None for tag, attributes in self.elements if tag == "a"}  # type: ignore[misc]

    def inputs(self) -> dict[str, dict[str, str | None]]:
        return {str(attributes["name"]): attributes for tag, attributes in self.elements if tag == "input"}


@dataclass(frozen=True)
class Estate:
    """A directory with the downloads of a service."""

    folder: Path
    service: str = "cdapdev"

    @property
    def arguments(self) -> list[str]:
        """Options of a command that reads them."""
        there = (self.folder / file for file in FILES.values() if (self.folder / file).exists())
        return ["--policies", ",".join(map(str, there))]

    def snapshot(self) -> Snapshot:
        """The same in effect."""
        read = {name: (self.folder / f).read_bytes() for name, f in FILES.items() if (self.folder / f).exists()}
        found = documents(read["policies"], read.get("roles"), read.get("tags"), read.get("userstore"))
        return FixedPolicies.of(found, service=self.service, options=EngineOptions()).snapshot

    def takes_effect(self, world: ConsoleWorld) -> Estate:
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
