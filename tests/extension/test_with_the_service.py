"""The jars and the service understand each other: no scripted answer, both sides as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.disk_faults import full_disk
from tests.extension.driver import Extension, User, entity
from tests.service.fixtures import READ_AND_WRITE, World, secret_of, serving

pytestmark = pytest.mark.java

KV = entity("DATASET", "ns1", "kv")
OTHER = entity("DATASET", "ns1", "a.b")
NS2 = entity("NAMESPACE", "ns2")
NOW = 1_795_234_767_899


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A service over `READ_AND_WRITE`."""
    with serving(READ_AND_WRITE, Path(tmp_path_factory.mktemp("service"))) as running:
        yield running


@pytest.fixture
def properties(world: World, tmp_path: Path) -> dict[str, str]:
    properties = {"url": world.url}
    for role in ("enforce", "audit"):
        file = tmp_path / role
        file.write_text(secret_of(role))
        file.chmod(0o600)
        properties |= {f"{role}.secret.file": str(file), f"{role}.name": role}
    return properties


CHECKS = {
    "may": ("alice", KV, ["STANDARD.GET"], None, ""),
    "may not": ("bob", OTHER, ["STANDARD.UPDATE"], None, "bob needs WRITE on dataset:ns1.a.b"),
    "no permission": ("bob", KV, [], None, ""),
    "children": ("alice", entity("NAMESPACE", "ns1"), ["STANDARD.LIST"], "DATASET", ""),
    "a stranger": ("eve", KV, ["STANDARD.GET"], None, "eve needs READ on dataset:ns1.kv"),
}


@pytest.mark.parametrize("name", CHECKS)
def test_checks_are_decided(name: str, extension: Extension, properties: dict[str, str]) -> None:
    user, of, permissions, child_type, why = CHECKS[name]
    extension.start(properties)

    seen = extension.enforce(User(user), of, permissions, child_type=child_type)

    assert seen["allowed"] == (not why)
    assert why in seen.get("text", "")


def test_lists_are_filtered(extension: Extension, properties: dict[str, str]) -> None:
    extension.start(properties)
    hidden = False if extension.jar == "6.11" else "missing"

    assert extension.visible([KV, OTHER, NS2], User("bob")) == {"visible": [True, hidden, hidden]}


def test_a_wrong_secret_allows_nothing(extension: Extension, properties: dict[str, str]) -> None:
    Path(properties["enforce.secret.file"]).write_text("another-secret-0123456789")
    extension.start(properties)

    assert "(HTTP status 401)" in extension.enforce(User("alice"), KV)["text"]


def test_a_difference_is_logged(extension: Extension, properties: dict[str, str], world: World) -> None:
    extension.start(properties | {"instance.name": "another-one"})

    assert "another-one" in extension.log


def test_records_are_stored(newest: Extension, properties: dict[str, str], tmp_path: Path) -> None:
    with serving(READ_AND_WRITE, tmp_path) as world:
        newest.start(properties | {"url": world.url})
        body = newest.enforce(User("alice"), KV)["audit"]
        times = {"started": 1_795_234_767_839, "ended": 1_795_234_767_899}
        request = {"code": 200, "uri": "/v3/x", "method_type": "PUT", **times}

        assert newest.command("publish", bodies=[body], request=request) == {"status": "PUBLISHED"}

    files = [path for path in (tmp_path / "events").rglob("*.jsonl") if path.is_file()]
    (stored,) = [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert stored["caller"] == "audit"
    assert stored["record"]["checks"] == [json.loads(body)]


def test_a_creation_is_journalled_under_the_stamp_of_its_record(
    extension: Extension, properties: dict[str, str], tmp_path: Path
) -> None:
    """Asked three times within the seconds for which answers are kept: each has an entry and a record of its own."""
    events = tmp_path / "events"
    with serving(READ_AND_WRITE, tmp_path) as world:
        extension.start(properties | {"url": world.url})
        new = entity("DATASET", "ns1", "new")
        bodies = []
        for _ in range(3):
            seen = extension.enforce(User("alice"), new, ["STANDARD.CREATE"])
            assert seen["allowed"]
            bodies += [seen["audit"]] if "audit" in seen else []
        assert extension.enforce(User("alice"), KV)["allowed"]
        assert not extension.enforce(User("bob"), OTHER, ["STANDARD.CREATE"])["allowed"]
        extension.visible([new], User("alice"))
        if bodies:
            request = {"code": 200, "uri": "/v3/x", "method_type": "PUT", "started": 1_795_234_767_839, "ended": NOW}
            assert extension.command("publish", bodies=bodies, request=request) == {"status": "PUBLISHED"}

    lines = [json.loads(line) for path in sorted(events.glob("*.jsonl")) for line in path.read_text().splitlines()]
    entries = {line["id"]: line["check"] for line in lines if "check" in line}
    checks = [check for line in lines if "record" in line for check in line["record"]["checks"]]
    assert len(entries) == 3
    assert {entry["principal"] for entry in entries.values()} == {"alice"}
    assert len(checks) == (3 if extension.jar == "6.11" else 0)
    for check in checks:
        entry = entries[check["id"]]
        same = ("process", "at", "principal", "type", "parts", "permissions")
        assert [entry[name] for name in same] == [check[name] for name in same]
    assert json.loads((events / ".watermark").read_bytes())["records"] is (extension.jar == "6.11")


def test_a_service_that_can_not_write_its_journal_denies(
    extension: Extension, properties: dict[str, str], tmp_path: Path
) -> None:
    with serving(READ_AND_WRITE, tmp_path) as world:
        extension.start(properties | {"url": world.url})
        new = entity("DATASET", "ns1", "new")
        with full_disk(10):
            assert not extension.enforce(User("alice"), new, ["STANDARD.CREATE"])["allowed"]
            assert extension.enforce(User("alice"), KV)["allowed"]
        assert extension.enforce(User("alice"), new, ["STANDARD.CREATE"])["allowed"]
