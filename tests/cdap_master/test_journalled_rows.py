"""Whether CDAP asks for each row of `creations.toml` itself: what `RemotePrivilegesHandler` relays is not journalled.

Every request is made on a real CDAP by its only user, and each allowed check of the row is looked for in the journal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests

from ranger_cdap.cdap.creations import RequestRow, load_creations
from ranger_cdap.wire.event_wire import CheckRecord, Record
from ranger_cdap.wire.record_events import names_in_path
from tests.cdap_master.builder import FROM_ARTIFACT, KEY_VALUE
from tests.cdap_master.cdap_apps import MODULE_CLASS, WORKFLOW, module_jar, schedule, workflow_jar
from tests.cdap_master.fixtures import World, wait_until
from tests.cdap_master.in_memory_cdap import APP_JAR
from tests.cdap_master.stored_events import checks, records

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "ownership.md"

USER = "rows-user"
NS = "/v3/namespaces/rows"
FLOW = {"artifact": {"name": "flow", "version": "1.0.0", "scope": "USER"}}
PROFILE = {"label": "l", "description": "d", "provisioner": {"name": "native", "properties": []}}
KEY = {"description": "d", "data": "1234", "properties": {}}
MODULE = {"X_Class_Name": MODULE_CLASS}
VERSION = {"Artifact_Version": "1.0.0"}
PARTS = ("namespace:rows", "application:rows.Flow", "application:rows.Purchases", "artifact:rows.flow",
         "artifact:rows.shop-app", f"program:rows.Flow.workflow.{WORKFLOW}", "dataset:rows.prices",
         "dataset:rows.purchases", "dataset_module:rows.one", "dataset_module:rows.other", "secure_key:rows.till",
         "profile:rows.small")  # fmt: skip


@dataclass(frozen=True)
class Ask:
    """A request of the user; it must be answered so. 501: the application in CDAP cannot be upgraded."""

    request: str
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    code: int = 200


def asks() -> tuple[Ask, ...]:
    """One request at least for each row, in an order in which CDAP can do them."""
    return (
        Ask(f"PUT {NS}", {}),
        Ask(f"POST {NS}/artifacts/flow", workflow_jar(), VERSION),
        Ask(f"PUT {NS}/apps/Flow", FLOW),
        Ask(f"PUT {NS}/apps/Flow/schedules/nightly", schedule("nightly")),
        Ask(f"DELETE {NS}/apps/Flow/schedules/nightly"),
        Ask(f"PUT {NS}/apps/Flow/versions/-SNAPSHOT/schedules/daily", schedule("daily")),
        Ask(f"DELETE {NS}/apps/Flow/versions/-SNAPSHOT/schedules/daily"),
        Ask(f"POST {NS}/apps/Flow/update", FLOW),
        Ask(f"POST {NS}/apps/Flow/upgrade", code=501),
        Ask(f"POST {NS}/upgrade", [{"name": "Flow"}]),
        Ask(f"POST {NS}/apps/Flow/versions/2.0/create", FLOW),
        Ask(f"DELETE {NS}/apps/Flow"),
        Ask(f"POST {NS}/apps", APP_JAR.read_bytes(), {"X_Archive_Name": "shop-app-1.0.0.jar"}),
        Ask(f"DELETE {NS}/apps"),
        Ask(f"PUT {NS}/apps/Purchases", FROM_ARTIFACT),
        Ask(f"DELETE {NS}/apps/Purchases"),
        Ask(f"DELETE {NS}/artifacts/flow/versions/1.0.0"),
        Ask(f"PUT {NS}/data/datasets/prices", KEY_VALUE),
        Ask(f"DELETE {NS}/data/datasets/prices"),
        Ask(f"DELETE {NS}/data/datasets"),
        Ask(f"PUT {NS}/data/modules/one", module_jar(), MODULE),
        Ask(f"DELETE {NS}/data/modules/one"),
        Ask(f"PUT {NS}/data/modules/other", module_jar(), MODULE),
        Ask(f"DELETE {NS}/data/modules"),
        Ask(f"PUT {NS}/securekeys/till", KEY),
        Ask(f"DELETE {NS}/securekeys/till"),
        Ask(f"PUT {NS}/profiles/small", PROFILE),
        Ask(f"POST {NS}/profiles/small/disable"),
        Ask(f"DELETE {NS}/profiles/small"),
        Ask("DELETE /v3/unrecoverable/namespaces/rows"),
    )


REFUSED_BY_CDAP = {
    ("DELETE", "/v3/namespaces/rows/apps/Flow/versions/2.0"): "Deletion of specific app version is not allowed.",
}
"""Requests of rows for older releases only, and how a CDAP 6.11 refuses them, without a check."""


def row_id(row: RequestRow) -> str:
    return f"{row.kind} {row.entity.name}: {row.request.method} {row.request.uri.replace('([^/]+)', '*')}"


ROWS = {row_id(row): row for row in load_creations().data_plane}


def is_refused(row: RequestRow) -> bool:
    return any(
        method == row.request.method and names_in_path(row.request, path) is not None
        for method, path in REFUSED_BY_CDAP
    )


@pytest.fixture(scope="module")
def rows_world(cdap_world: World) -> World:
    """The world once all requests have been made and their records are stored."""
    everything = [f"{action} {part}" for part in PARTS for action in ("READ", "WRITE", "EXECUTE", "ADMIN")]
    cdap_world.people({USER: ["WRITE instance:", "READ namespace:system", *everything]})
    user = cdap_world.user(USER)
    made = asks()
    for ask in made:
        answer = user.ask(ask.request, ask.body, **ask.headers)
        assert answer.status_code == ask.code, f"{ask.request}: {answer.status_code} {answer.text}"
    wanted = {tuple(ask.request.split(" ")) for ask in made}
    wait_until(lambda: wanted <= {(r.method, r.uri) for r in of_user(cdap_world)}, "the records are stored")
    return cdap_world


def of_user(world: World) -> list[Record]:
    return [record for record in records(world) if any(check.principal == USER for check in record.checks)]


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if not is_refused(row)])
def test_cdap_itself_asks_for_each_row(rows_world: World, name: str) -> None:
    row = ROWS[name]
    wanted = [check for record in of_user(rows_world) if is_of(record, row) for check in allowed(record, row)]
    journalled = checks(rows_world)
    assert wanted
    assert [check for check in wanted if check.id not in journalled] == []


@pytest.mark.parametrize(("method", "path"), REFUSED_BY_CDAP)
def test_a_row_for_older_releases_is_refused_and_named_in_the_docs(rows_world: World, method: str, path: str) -> None:
    answer = rows_world.user(USER).ask(f"{method} {path}")
    assert (answer.status_code, answer.text) == (403, REFUSED_BY_CDAP[method, path])
    (row,) = (row for row in ROWS.values() if is_refused(row))
    names = iter(row.request.variables)
    uri = re.sub(re.escape("([^/]+)"), lambda _: f"{{{next(names)}}}", row.request.uri)
    assert f"`{method} {uri}`" in PAGE.read_text(encoding="utf-8")


def test_what_cdap_relays_for_a_program_is_allowed_and_not_journalled(rows_world: World) -> None:
    found = re.search(r"AppFabric HTTP Service announced at \S*:(\d+)", rows_world.cdap.log)
    assert found
    question = {
        "principal": {"name": USER, "type": "USER"},
        "entityId": {"namespace": "rows", "dataset": "prices", "entity": "DATASET"},
        "permissions": [{"type": "STANDARD", "name": "CREATE"}],
    }
    before = checks(rows_world)
    caller = {"CDAP-UserId": USER, "Authorization": "Bearer credential-of-a-proxy"}

    url = f"http://127.0.0.1:{found[1]}/v1/execute/enforce"
    answer = requests.post(url, json=question, headers=caller, timeout=30)

    assert answer.status_code == 200, answer.text
    assert "STANDARD.CREATE" in answer.text  # the program gets our own words, with an id, and keeps them
    assert checks(rows_world) == before


def is_of(record: Record, row: RequestRow) -> bool:
    """Whether the record is of a request of the row that CDAP allowed."""
    request = row.request
    return record.method == request.method and names_in_path(request, record.uri) is not None


def allowed(record: Record, row: RequestRow) -> list[CheckRecord]:
    """The checks of the record that make the row an event."""
    return [
        check
        for check in record.checks
        if check.allowed and check.type in row.checked.cdap_names and row.permission in check.permissions
    ]
