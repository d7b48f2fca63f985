"""What CDAP's own calls decide of the operations: derived from the tables, held against the recorded calls."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from ranger_cdap.cdap.checks.check_table import all_cells
from ranger_cdap.cdap.checks.checks import CdapCheck, CheckTable
from ranger_cdap.cdap.entity import type_of
from ranger_cdap.cdap.profile import load_profile, profile_names
from tests.cdap.cdap_coverage import FACTS, Coverage, coverage, derived_coverage, operations_of, undecided

DATA = Path(__file__).parents[1] / "data"
DECIDED, APPROXIMATED, NEVER = Coverage.DECIDED, Coverage.APPROXIMATED, Coverage.NEVER

# Call sites of CDAP 6.11.1 that were read and not recorded.
READ_IN_SOURCES = {
    "dataset_module.GET",
    *(f"{kind}.{name}" for kind in ("credential_profile", "credential_identity") for name in ("CREATE", "GET")),
    *(f"{kind}.{name}" for kind in ("credential_profile", "credential_identity") for name in ("UPDATE", "DELETE")),
}

# Profile, operation, its coverage: the same check may decide the row of one document and not that of another.
OPERATIONS = [
    ("default", "dataset.create", DECIDED),
    ("000", "artifact.list", DECIDED),
    ("002", "artifact.list", APPROXIMATED),
    ("003", "secure_key.update", APPROXIMATED),
    ("default", "program.debug", DECIDED),
    ("001-prose", "program.debug", APPROXIMATED),
    ("default", "program.delete", NEVER),
    ("default", "application.start_pipeline", NEVER),
    ("default", "topic.get", NEVER),
]


@pytest.mark.parametrize(("profile", "operation", "expected"), OPERATIONS)
def test_an_operation_is_decided_only_by_a_check_for_exactly_its_row(
    profile: str, operation: str, expected: Coverage
) -> None:
    assert coverage(profile, operation).coverage is expected


def test_all_that_is_not_decided_has_a_reason_and_nothing_else_has_one() -> None:
    found = list(undecided())

    assert [one for one in found if not one.reason] == []
    assert {one.reason for one in FACTS.reasons} == {one.reason for one in found}


def test_a_correction_corrects_something() -> None:
    corrected = {one.reason: one.coverage for one in FACTS.reasons if one.coverage}
    plain = {
        one.reason
        for one in undecided()
        if "/" not in one.operation and derived_coverage(one.profile, one.operation) is not one.coverage
    }

    in_roles = {one.reason for one in FACTS.reasons if all("/" in name for name in one.operations)}
    assert set(corrected) - in_roles == plain


# An operation that CDAP asks about as another one: its coverage is a correction, for which these calls are the reason.
ASKED_AS = [
    ("application.update", "application.redeploy(existing)", "application.deploy"),
    ("secure_key.update", "securekey.create", "secure_key.create"),
    ("dataset.exists", "dataset.exists", "dataset.get"),
    ("dataset.truncate", "dataset.truncate", "dataset.get"),
    ("dataset_type.list", "dataset_type.list", "dataset.list"),
    ("schedule.list", "schedule.list", "application.get"),
    ("namespace.delete", "namespace.delete", "artifact.delete"),
]


@pytest.mark.parametrize(("operation", "recorded", "asked"), ASKED_AS)
def test_a_correction_is_what_was_recorded(operation: str, recorded: str, asked: str) -> None:
    table = CheckTable(load_profile("default"))
    lines = map(json.loads, (DATA / "cdap-enforce-calls.jsonl").read_text().splitlines())
    calls = next(line["calls"] for line in lines if line["operation"] == recorded)
    checks = [
        CdapCheck(
            call["entity"][0], tuple(call["entity"][1]), tuple(call["permissions"]), call.get("child"), call["hint"]
        )
        for call in calls
        if "entity" in call
    ]

    assert asked in {each.operation.name for check in checks for each in table.resolve(check).operations}
    assert coverage("default", operation).coverage is APPROXIMATED


def test_what_an_entity_in_a_role_is_checked_as_is_an_operation() -> None:
    known = {row.name for name in profile_names() for row in operations_of(load_profile(name))}
    assert {one for by_actions in FACTS.roles.values() for one in by_actions.values()} <= known


def recorded_checks() -> set[str]:
    """The recorded permissions as `cdap_coverage.toml` writes them, of those that checks.toml has for every type."""
    own = set(all_cells())
    lines = [
        json.loads(line)
        for name in ("cdap-enforce-calls.jsonl", "cdap-enforce-other-calls.jsonl")
        for line in (DATA / name).read_text().splitlines()
    ]
    found = set()
    for call in (call for line in lines for call in line.get("calls", [line])):
        child = call.get("child")
        for permission in call.get("permissions", ()):
            kind, _ = type_of(child or call["entity"][0])
            cell = (permission.partition(".")[2], child is not None)
            if (kind, *cell) not in own and ("every", *cell) in own:
                found.add(f"{kind}.{cell[0]}{' on the parent' if child else ''}")
    return found


def test_the_permissions_cdap_asks_for_are_those_recorded_or_read_in_its_sources() -> None:
    own = {f"{kind}.{name}{' on the parent' if child else ''}" for kind, name, child in all_cells()}

    assert sorted(FACTS.asked) == sorted({*recorded_checks(), *(READ_IN_SOURCES - own)})


DEFAULT_ROWS = {row.name for row in operations_of(load_profile("default"))}


def recorded_operations() -> tuple[set[str], set[str], set[str]]:
    """Rows of the default profile that recorded calls ask for exactly, only together with more, and not at all."""
    file = tomllib.loads((DATA / "cdap-enforce-operations.toml").read_text())
    replayed = [one for one in file["more"] if "default" in one.get("profiles", ["default"])]
    exact = {row for _, row, _ in file["exact"]}
    exact |= {one["row"] for one in replayed if not one.get("also") and not one.get("unasked")}
    other = {row for _, row, _ in file["listed_by_parent"]} | {one["row"] for one in replayed}
    return exact, other - exact, set(file["unchecked"])


def test_recorded_calls_that_ask_for_exactly_a_row_decide_it() -> None:
    exact, _, _ = recorded_operations()
    rows = exact & DEFAULT_ROWS

    assert len(rows) > 50
    assert {row for row in rows if derived_coverage("default", row) is not DECIDED} == set()


def test_recorded_calls_that_ask_for_more_than_a_row_do_not_decide_it() -> None:
    _, more, _ = recorded_operations()
    # A deployment asks for more because of the entities in its roles, which are covered one by one.
    rows = more & DEFAULT_ROWS - {"application.deploy"}

    assert {"dataset.truncate", "namespace.delete", "artifact.list"} <= rows
    assert {row for row in rows if coverage("default", row).coverage is not APPROXIMATED} == set()


def test_operations_without_a_recorded_call_are_never_asked() -> None:
    _, _, unchecked = recorded_operations()
    rows = unchecked & DEFAULT_ROWS

    assert {"topic.create", "namespace.search"} <= rows
    assert {row for row in rows if coverage("default", row).coverage is not NEVER} == set()
