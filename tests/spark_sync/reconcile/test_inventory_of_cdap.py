"""The inventory by REST: everything CDAP has or nothing, in CDAP's own shapes of several releases."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.inventory import read_inventory
from ranger_cdap.cli.main import main
from ranger_cdap.errors import CdapError, CdapForbidden, CdapUnreachable, ConfigError, InvalidInput
from spark_sync.reconcile.inventory import MARGIN, take_inventory, write_inventory
from spark_sync.sources.cdap_http import CdapHttp

NOW = 1_795_233_600_000
NS = "/v3/namespaces"

# As CDAP 6.11.1 answers; `apps` comes in pages (of two, however many are asked for).
CDAP_6: dict[str, Any] = {
    NS: [{"name": "default", "config": {}}, {"name": "ns1", "generation": 1}, {"name": "system"}],
    f"{NS}/ns1/apps": [{"type": "App", "name": f"app{n:04}", "version": "v"} for n in range(5)],
    f"{NS}/ns1/apps/app0001/schedules": [{"name": "daily", "application": "app0001", "status": "SUSPENDED"}],
    f"{NS}/ns1/artifacts": [
        {"name": "lib", "version": "1.0.0", "scope": "USER"},
        {"name": "lib", "version": "2.0.0", "scope": "USER"},
    ],
    f"{NS}/ns1/data/datasets": [{"name": "a.b$c", "type": "table", "properties": {}}],
    f"{NS}/ns1/data/modules": [{"name": "mod.Module", "className": "x", "types": []}],
    f"{NS}/ns1/securekeys/": [{"name": "key-1", "description": "", "createdEpochMs": 1, "properties": {}}],
    f"{NS}/ns1/profiles": [{"name": "native", "scope": "USER"}],
    f"{NS}/ns1/workflows": [{"type": "Workflow", "app": "app0001", "name": "W"}],
}
FOUND = {
    EntityId("namespace", ("default",)),
    EntityId("namespace", ("ns1",)),
    *(EntityId("application", ("ns1", f"app{n:04}")) for n in range(5)),
    EntityId("schedule", ("ns1", "app0001", "daily")),
    EntityId("artifact", ("ns1", "lib")),
    EntityId("dataset", ("ns1", "a.b$c")),
    EntityId("dataset_module", ("ns1", "mod.Module")),
    EntityId("secure_key", ("ns1", "key-1")),
    EntityId("profile", ("ns1", "native")),
}
LISTS = ("apps", "artifacts", "data/datasets", "data/modules", "securekeys/", "profiles")
PROGRAMS = ("mapreduce", "services", "spark", "workers", "workflows")


class Cdap:
    """A router on loopback that knows what it was given; an unknown path is 404."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: dict[str, Any] = {}
        self.statuses: dict[str, int] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.pages = True
        self.tokens: set[str | None] = set()

    def holds(self, answers: dict[str, Any]) -> None:
        """These, and an empty list for everything else that CDAP 6 has."""
        names = [one["name"] for one in answers[NS]]
        self.answers = {f"{NS}/{name}/{what}": [] for name in names for what in (*LISTS, *PROGRAMS)} | answers
        for app in answers.get(f"{NS}/ns1/apps", []):
            self.answers.setdefault(f"{NS}/ns1/apps/{app['name']}/schedules", [])

    def answer(self, path: str, query: dict[str, str]) -> Any:
        whole = self.answers[path]
        if not path.endswith("/apps") or not self.pages:
            return whole
        size, token = min(int(query["pageSize"]), 2), query.get("pageToken", "")
        begin = next((n for n, app in enumerate(whole) if f"{app['name']}.{app['version']}" == token), -1) + 1
        page = whole[begin : begin + size]
        more = begin + size < len(whole)
        return {"applications": page} | ({"nextPageToken": f"{page[-1]['name']}.{page[-1]['version']}"} if more else {})


@pytest.fixture
def cdap() -> Iterator[Cdap]:
    made = Cdap()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            made.asked.append((parts.path, query))
            made.tokens.add(self.headers["Authorization"])
            known = parts.path in made.answers
            status = made.statuses.get(parts.path, 200 if known else 404)
            body = made.answer(parts.path, query) if known and status == 200 else "a secret"
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", f"{made.url}/login")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Tests are quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    made.holds(CDAP_6)
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


def entities_of(cdap: Cdap, **given: Any) -> set[EntityId]:
    with CdapHttp(cdap.url, read_timeout=5.0, attempts=1) as http:
        found = take_inventory(http, instance="cdap", now=NOW, **given).entities
    assert len(found) == len(set(found))
    return set(found)


def test_everything_that_cdap_6_has(cdap: Cdap) -> None:
    assert entities_of(cdap) == FOUND
    assert len([path for path, _ in cdap.asked if path == f"{NS}/ns1/apps"]) == 3
    assert ("/v3/namespaces/ns1/artifacts", {"scope": "user"}) in cdap.asked
    assert not [path for path, _ in cdap.asked if path.startswith(f"{NS}/system")]


def versions_of(cdap: Cdap) -> dict[str, tuple[str, ...]]:
    with CdapHttp(cdap.url, attempts=1) as http:
        found = take_inventory(http, instance="cdap", now=NOW).versions
    return {str(entity): versions for entity, versions in found.items()}


LIB = {"artifact:ns1.lib": ("1.0.0", "2.0.0")}
APPS = f"{NS}/ns1/apps"


def app(version: str, **more: Any) -> dict[str, Any]:
    return {"name": "shop", "version": version} | more


@pytest.mark.parametrize(
    ("apps", "versions"),
    [
        ([app("1"), app("2")], {"application:ns1.shop": ("1", "2")}),
        ([app("2", change={"latest": True})], {}),
        ([app("2", change={"latest": True}), {"name": "old", "version": "1"}], {}),
        ([app("1"), {"name": "shop"}], {}),
        ([app("1"), app("")], {}),
        ([app("1"), {"name": "shop", "version": 2}], {}),
    ],
    ids=[
        "until 6.7 each version is listed",
        "from 6.8 the latest only",
        "from 6.8, of what is older too",
        "one without a version",
        "one with an empty version",
        "one with a version that is no text",
    ],
)
def test_all_versions_are_known_or_none(
    cdap: Cdap, apps: list[dict[str, Any]], versions: dict[str, tuple[str, ...]]
) -> None:
    cdap.pages = False
    cdap.holds(CDAP_6 | {APPS: apps, f"{NS}/ns1/apps/app0001/schedules": []})
    assert versions_of(cdap) == LIB | versions


@pytest.mark.parametrize("rows", [[{"name": "lib"}], [{"name": "lib", "version": ""}], ["lib"]])
def test_an_artifact_without_versions_has_unknown_ones(cdap: Cdap, rows: list[Any]) -> None:
    cdap.holds(CDAP_6 | {f"{NS}/ns1/artifacts": [*rows, {"name": "lib", "version": "1.0.0"}], APPS: []})
    assert versions_of(cdap) == {}


def test_before_there_were_pages(cdap: Cdap) -> None:
    cdap.pages = False
    assert entities_of(cdap) == FOUND


def test_streams_views_and_keys_of_cdap_5(cdap: Cdap) -> None:
    cdap.holds(
        {
            NS: [{"name": "default"}],
            f"{NS}/default/streams": [{"name": "clicks"}],
            f"{NS}/default/streams/clicks/views": ["v1"],
            f"{NS}/default/securekeys/": {"key-1": "a description"},
        }
    )
    assert entities_of(cdap) == {
        EntityId("namespace", ("default",)),
        EntityId("stream", ("default", "clicks")),
        EntityId("stream_view", ("default", "clicks", "v1")),
        EntityId("secure_key", ("default", "key-1")),
    }


def test_programs_where_they_are_wanted(cdap: Cdap) -> None:
    assert entities_of(cdap, programs=True) == FOUND | {EntityId("program", ("ns1", "app0001", "workflow.W"))}


def spoil(path: str, answer: Any = None, status: int = 200) -> Callable[[Cdap], None]:
    def change(cdap: Cdap) -> None:
        cdap.answers[path] = answer
        cdap.statuses[path] = status

    return change


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (
            spoil(f"{NS}/ns1/data/datasets", status=403),
            CdapForbidden,
            "may not do `GET /v3/namespaces/ns1/data/datasets`",
        ),
        (spoil(NS, status=401), CdapForbidden, "does not accept the token"),
        (spoil(f"{NS}/ns1/artifacts", status=500), CdapUnreachable, "answers 500"),
        (spoil(f"{NS}/ns1/artifacts", status=404), CdapError, "deleted meanwhile"),
        (spoil(f"{NS}/ns1/artifacts", status=302), CdapError, "a redirect .302."),
        (spoil(f"{NS}/ns1/artifacts", b"<html>"), CdapError, "is not JSON"),
        (spoil(f"{NS}/ns1/artifacts", {"name": {}}), CdapError, None),
        (spoil(f"{NS}/ns1/artifacts", "lib"), CdapError, "is not a readable list of names"),
        (spoil(f"{NS}/ns1/artifacts", None), CdapError, "is not a readable list of names"),
        (spoil(f"{NS}/ns1/artifacts", [{"id": "lib"}]), CdapError, "is not a readable list of names"),
        (spoil(f"{NS}/ns1/artifacts", [{"name": "*"}]), CdapError, "`.` is not a name that CDAP allows"),
        (spoil(f"{NS}/ns1/profiles", status=403), CdapForbidden, "may not do"),
        (spoil(NS, [{"name": "ns1"}]), CdapError, "cannot see the namespace `default`"),
        (spoil(NS, []), CdapError, "cannot see the namespace `default`"),
    ],
)
def test_whatever_is_hidden_or_unreadable_there_is_no_inventory(
    cdap: Cdap, change: Callable[[Cdap], None], error: type[CdapError], message: str | None
) -> None:
    change(cdap)
    if message is None:  # an object is a list of its keys
        assert EntityId("artifact", ("ns1", "name")) in entities_of(cdap)
        return
    with pytest.raises(error, match=message) as caught:
        entities_of(cdap)
    assert "secret" not in str(caught.value)


def test_pages_that_go_in_circles(cdap: Cdap) -> None:
    cdap.answer = lambda path, query: (
        {"applications": [], "nextPageToken": "a"} if path.endswith("/apps") else cdap.answers[path]
    )  # type: ignore[method-assign]
    with pytest.raises(CdapError, match="repeats the same page"):
        entities_of(cdap)


def test_a_namespace_is_one_segment_of_the_path(cdap: Cdap) -> None:
    cdap.answers[NS] = [{"name": "default"}, {"name": "../../x?y"}]
    with pytest.raises(CdapError, match="an invalid name"):
        entities_of(cdap)


def test_nobody_there() -> None:
    with (
        CdapHttp("http://127.0.0.1:9", attempts=1) as http,
        pytest.raises(CdapUnreachable, match="was refused"),
    ):
        take_inventory(http, instance="cdap", now=NOW)


@pytest.mark.parametrize("token", ["", "two words", "ümlaut"])
def test_a_token_that_is_none(tmp_path: Path, token: str) -> None:
    (tmp_path / "token").write_text(token, encoding="utf-8")
    with pytest.raises(ConfigError, match="one word of ASCII"):
        CdapHttp("http://127.0.0.1:9", token_file=tmp_path / "token")


def test_the_file_is_a_baseline_that_is_older_than_the_first_request(cdap: Cdap, tmp_path: Path) -> None:
    with CdapHttp(cdap.url) as http:
        taken = take_inventory(http, instance="cdap", now=NOW)
    write_inventory(taken, tmp_path / "i.jsonl")
    assert read_inventory(tmp_path / "i.jsonl", instance="cdap", now=NOW) == taken
    assert taken.taken == NOW - MARGIN
    assert taken.versions[EntityId("artifact", ("ns1", "lib"))] == ("1.0.0", "2.0.0")
    assert list(tmp_path.iterdir()) == [tmp_path / "i.jsonl"]


def test_a_file_that_cant_be_written(cdap: Cdap, tmp_path: Path) -> None:
    with CdapHttp(cdap.url) as http:
        taken = take_inventory(http, instance="cdap", now=NOW)
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_inventory(taken, tmp_path / "missing" / "i.jsonl")


def test_the_command(
    cdap: Cdap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token").write_text("t0ken\n")
    arguments = ["sync", "inventory", "--url", cdap.url, "--token-file", "token", "--out", "i.jsonl"]
    assert main([*arguments, "--json"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out)["entities"]["application"] == 5
    assert cdap.tokens == {"Bearer t0ken"}
    assert "t0ken" not in out + (tmp_path / "i.jsonl").read_text()


def test_the_command_where_cdap_hides_something(cdap: Cdap, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cdap.statuses[f"{NS}/ns1/data/datasets"] = 403
    assert main(["sync", "inventory", "--url", cdap.url, "--out", str(tmp_path / "i.jsonl")]) == 1
    assert "may not do" in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []
