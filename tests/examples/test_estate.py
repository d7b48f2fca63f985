"""The made-up estate of examples/estate: what it promises, and what access analysis says of it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies, decode_service_tags
from ranger_cdap.tools.analysis.impact import impact
from ranger_cdap.tools.policies.creator_grants import CreatorGrants
from tests.tools.analysis.test_impact_laws import containing

pytestmark = pytest.mark.slow

Json = dict[str, Any]
SCRIPT = Path(__file__).parents[2] / "examples" / "estate" / "make_estate.py"
FILES = ("policies.json", "roles.json", "tags.json", "users.json", "inventory.jsonl")
DAYS = 10


def make(directory: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(directory), "--days", str(DAYS), *options],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


@pytest.fixture(scope="module")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("estate")
    assert "200 people, 1000 entities" in make(directory)
    return directory


def engine_of(estate: Path, **changes: Any) -> PolicyEngine:
    policies = json.loads((estate / "policies.json").read_bytes()) | changes
    return PolicyEngine.build(
        decode_service_policies(msgspec.json.encode(policies)),
        roles=decode_roles((estate / "roles.json").read_bytes()),
        tags=decode_service_tags((estate / "tags.json").read_bytes()),
    )


@cache
def records(estate: Path) -> list[AuditRecord]:
    lines = [line for path in sorted((estate / "audit").iterdir()) for line in path.read_bytes().splitlines()]
    return [msgspec.json.decode(line, type=AuditRecord) for line in lines]


def requested(record: AuditRecord, groups: dict[str, list[str]]) -> AccessRequest:
    levels = {"dataset": 3, "application": 3, "program": 4, "topic": 3, "namespace": 2}
    names = ["instance", "namespace", "application" if record.resType == "program" else record.resType, "program"]
    resource = dict(zip(names[: levels[record.resType]], record.resource.split("/"), strict=True))
    member_of = frozenset(groups[record.reqUser])
    return AccessRequest(
        resource, record.action, user=record.reqUser, groups=member_of, access_time=record.evtTime
    )  # fmt: skip


def test_the_same_seed_makes_the_same_files_and_another_one_others(estate: Path, tmp_path: Path) -> None:
    make(tmp_path / "same")
    make(tmp_path / "other", "--seed", "8")
    listed = [*FILES, *(f"audit/{path.name}" for path in (estate / "audit").iterdir())]
    assert len(listed) == len(FILES) + DAYS
    assert all((tmp_path / "same" / name).read_bytes() == (estate / name).read_bytes() for name in listed)
    assert (tmp_path / "other" / "policies.json").read_bytes() != (estate / "policies.json").read_bytes()


def test_the_records_are_the_decisions_of_its_policies(estate: Path) -> None:
    engine = engine_of(estate)
    groups = json.loads((estate / "users.json").read_bytes())["userGroupMapping"]
    outcomes: Counter[int] = Counter()
    times = [record.evtTime for record in records(estate)]
    assert times == sorted(times)
    for record in Random(1).sample(records(estate), 2_000):
        decision = engine.evaluate(requested(record, groups))
        assert (int(decision.allowed), decision.policy_id) == (record.result, record.policy)
        outcomes[record.result] += 1
    assert outcomes[0] > 5


def test_its_creators_have_grants_as_the_sync_job_writes_them(estate: Path) -> None:
    policies = json.loads((estate / "policies.json").read_bytes())["policies"]
    labelled = [one for one in policies if one.get("policyLabels")]
    assert len(labelled) > 500
    assert all(map(CreatorGrants(delegate_admin=False).made, labelled))


def test_its_access_is_known_exactly(estate: Path) -> None:
    """At least 99 in 100 rows are exact, and each request of the audit is in one of them if it is allowed."""
    full = engine_of(estate)
    found = impact(engine_of(estate, policies=[]), full)
    exact = sum(not row.doubts for row in found.gained)
    assert exact >= 0.99 * len(found.gained) > 2_000
    assert found.contradictions == ()
    groups = json.loads((estate / "users.json").read_bytes())["userGroupMapping"]
    for record in Random(2).sample(records(estate), 100):
        assert len(containing(found.gained, found, requested(record, groups))) == record.result, record


def files(estate: Path) -> list[str]:
    return ["--policies", ",".join(str(estate / f"{kind}.json") for kind in ("policies", "roles", "tags"))]


def test_what_is_given_twice_is_found(estate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["policies", "lint", "--propose", *files(estate), "--json"]) == ExitCode.NO
    found = json.loads(capsys.readouterr().out)
    assert not any(found["notes"].values())
    assert {one["policy"].partition(" ")[2] for one in found["proposals"]} == {
        '"sales: orders"', '"marketing: marts"', '"marketing: namespace"', '"web: shared with marketing"',
    }  # fmt: skip


def test_what_is_too_wide_is_found(estate: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["policies", "lint", "--propose", *files(estate), "--json"]
    assert main([*words, "--inventory", str(estate / "inventory.jsonl")]) == ExitCode.NO
    (one,) = (row for row in json.loads(capsys.readouterr().out)["proposals"] if row["proposal"] == "narrow")
    assert "export for the tax office" in one["policy"]
    assert one["what"].endswith("*invoices* covers 3 entities; enough is mart_invoices, raw_invoices, report_invoices")
