"""A CDAP of a test's making: what exists and who may see it, or any answer at all, also what no CDAP would send."""

from __future__ import annotations

import base64
import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import servicedef
from tests.servicedef.definition_facts import hierarchies

Parts = tuple[str, ...]

PASSWORD = "pass-word"
"""Of every account."""


@dataclass(frozen=True)
class Reply:
    """One answer. `pieces` are sent one after the other with `pause` seconds between them, in place of all else."""

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: Iterator[bytes] | tuple[bytes, ...] = ()
    pause: float = 0.0


@dataclass(frozen=True)
class Asked:
    """A request."""

    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]

    @property
    def account(self) -> str | None:
        """The name that signs in with `PASSWORD`, by Basic or by a token of `World`."""
        kind, _, value = self.headers.get("Authorization", "").partition(" ")
        if kind == "Bearer" and value.startswith("token-of-"):
            return value.removeprefix("token-of-")
        with suppress(ValueError):
            name, _, password = base64.b64decode(value).decode().partition(":")
            return name if kind == "Basic" and password == PASSWORD else None
        return None


@dataclass
class Server:
    """An HTTP server on this machine that answers as a function says."""

    url: str
    asked: list[Asked] = field(default_factory=list, repr=False)


@contextmanager
def serving(answer: Callable[[Asked], Reply], *, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    """Serve until the end of the block, which also ends answers under way."""
    ended = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
            asked = Asked(unquote(parts.path), query, dict(self.headers))
            server.asked.append(asked)
            with suppress(OSError):
                self._send(answer(asked))

        def _send(self, reply: Reply) -> None:
            for piece in reply.pieces:
                self.wfile.write(piece)
                if ended.wait(reply.pause):
                    break
            if reply.pieces:
                self.close_connection = True
                return
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response_only(reply.status)
            for name, value in {"Content-Length": str(len(body)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that has gone is what these tests are about."""

    listener = Quiet(("127.0.0.1", 0), Handler)
    if tls:
        listener.socket = tls.wrap_socket(listener.socket, server_side=True, do_handshake_on_connect=False)
    server = Server(f"{'https' if tls else 'http'}://127.0.0.1:{listener.server_port}")
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        ended.set()
        listener.shutdown()
        thread.join()
        listener.server_close()


LISTS: Mapping[str, str] = {
    "application": "apps",
    "artifact": "artifacts",
    "dataset": "data/datasets",
    "dataset_module": "data/modules",
    "dataset_type": "data/types",
    "stream": "streams",
    "secure_key": "securekeys/",
    "profile": "profiles",
    "credential_profile": "credentials/profiles",
    "credential_identity": "credentials/identities",
}
"""Where CDAP lists what is in a namespace, by level."""

PATHS = {path[-1]: path for path in hierarchies(servicedef.service_definition())}
"""Each level with those above it."""


@dataclass(frozen=True)
class World:
    """What exists by level, as parts below the instance, and `hidden`: what an account does not see, nor what is in it.

    It answers as CDAP 6.11.1 was seen to: a list in a namespace that the account does not see is 403, applications come
    in pages and are filtered by a part of their name in any case, the namespace `system` is not in the list. With
    `sign_in`, the address of `/token`, it takes tokens only. `principals` are those of namespaces.
    """

    entities: Mapping[str, frozenset[Parts]]
    hidden: Mapping[str, frozenset[tuple[str, Parts]]] = field(default_factory=dict)
    principals: Mapping[str, str] = field(default_factory=dict)
    sign_in: str = ""
    page: int = 3

    def visible(self, account: str, level: str) -> set[Parts]:
        """What CDAP shows to the account."""
        hidden = self.hidden.get(account, frozenset())
        if level == "principal":
            return {(self.principals[ns],) for (ns,) in self._listed_namespaces(account) if ns in self.principals}
        return {
            parts
            for parts in self.entities.get(level, frozenset())
            if not any((PATHS[level][n], parts[:n]) in hidden for n in range(1, len(parts) + 1))
        }

    def answer(self, asked: Asked) -> Reply:
        """Answer a request of the router or of the authentication server."""
        account = asked.account
        if asked.path == "/token":
            return Reply(body={"access_token": f"token-of-{account}"}) if account else Reply(401)
        if account is None or (self.sign_in and "Basic" in asked.headers["Authorization"]):
            return Reply(401, {"error": "x", "auth_uri": [self.sign_in] if self.sign_in else []})
        return self._listed(account, asked)

    def _listed(self, account: str, asked: Asked) -> Reply:
        if asked.path == "/v3/version":
            return Reply(body={"version": "6.11.1"})
        if asked.path == "/v3/namespaces":
            return Reply(body=[self._namespace(ns) for (ns,) in sorted(self._listed_namespaces(account))])
        if asked.path == "/v3/system/services/status":
            return Reply(body={name: "OK" for (name,) in self.visible(account, "system_service")})
        found = re.fullmatch(r"/v3/namespaces/([^/]+)(?:/(.*))?", asked.path)
        if found is None or (found[1],) not in self.visible(account, "namespace"):
            return Reply(403, b"no privilege")
        namespace, rest = found[1], found[2]
        if rest is None:
            return Reply(body=self._namespace(namespace))
        for level, path in LISTS.items():
            if rest == path:
                return self._page(level, self._in(account, level, (namespace,)), asked)
        if found := re.fullmatch(r"streams/([^/]+)/views", rest):
            return Reply(body=self._in(account, "stream_view", (namespace, found[1])))
        if found := re.fullmatch(r"apps/([^/]+)(/schedules)?", rest):
            return self._application(account, (namespace, found[1]), schedules=bool(found[2]))
        return Reply(404, b"no such path")

    def _application(self, account: str, application: Parts, *, schedules: bool) -> Reply:
        if application not in self.visible(account, "application"):
            return Reply(404, b"not found")
        if schedules:
            return Reply(body=[{"name": name} for name in self._in(account, "schedule", application)])
        programs = [name.partition(".") for name in self._in(account, "program", application)]
        rows = [{"type": kind.capitalize(), "app": application[1], "name": name} for kind, _, name in programs]
        return Reply(body={"name": application[1], "datasets": [{"name": "not a program"}], "programs": rows})

    def _page(self, level: str, names: list[str], asked: Asked) -> Reply:
        rows = [{"name": name, "type": "x", "description": "", "more": {"name": "of something else"}} for name in names]
        if level != "application":
            return Reply(body=rows)
        part = asked.query.get("nameFilter", "").lower()
        rows = [row for row in rows if part in str(row["name"]).lower()]
        begin = int(asked.query.get("pageToken", "0"))
        end = begin + min(self.page, int(asked.query["pageSize"]))
        more = {"nextPageToken": str(end)} if end < len(rows) else {}
        return Reply(body={"applications": rows[begin:end], **more})

    def _in(self, account: str, level: str, above: Parts) -> list[str]:
        return sorted(parts[-1] for parts in self.visible(account, level) if parts[:-1] == above)

    def _listed_namespaces(self, account: str) -> set[Parts]:
        return self.visible(account, "namespace") - {("system",)}

    def _namespace(self, name: str) -> dict[str, Any]:
        principal = {"principal": self.principals[name]} if name in self.principals else {}
        return {"name": name, "description": "", "generation": 1, "config": {"scheduler.queue.name": "", **principal}}


def configs(server: Server, account: str, **more: str) -> dict[str, str]:
    """The configuration of a service that looks names up there."""
    return {"cdap.instance.url": server.url, "cdap.username": account, "password": PASSWORD, **more}


def wait_until(true: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    """Return as soon as it is true; a failure if it never is."""
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < seconds, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.05)
