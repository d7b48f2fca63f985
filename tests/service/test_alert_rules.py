"""The example alert rules: every figure and label in them is exported, and each is true when it should be.

Expressions are of a few simple forms; `holds` works them out on figures that our own code made.
"""

from __future__ import annotations

import math
import operator
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from ranger_cdap.audit import AuditRecord, AuditTrail
from ranger_cdap.audit.commit import GroupCommit
from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.errors import AdminUnreachable
from ranger_cdap.ranger.refresh.policy_refresher import Snapshot
from ranger_cdap.ranger.refresh.refresh_state import PolicyState
from ranger_cdap.service.decisions.ranger_service import RangerService
from spark_sync.ledger.event import Position
from spark_sync.ledger.life import Life, State
from spark_sync.metrics_file import metrics_text
from spark_sync.report import RunReport, SourceReport
from tests.audit.undelayed import Undelayed
from tests.authz.fixtures import policy
from tests.disk_faults import full_disk
from tests.service.event_samples import record
from tests.service.exported_figures import Labels, samples
from tests.service.fixtures import World, serving
from tests.service.journal_fixtures import ask, question

FILE = Path(__file__).parents[2] / "examples" / "alerts" / "ranger-cdap.rules.yaml"
RUNBOOKS = Path(__file__).parents[2] / "docs" / "how-to" / "runbooks.md"
RULES: dict[str, dict[str, Any]] = {
    rule["alert"]: rule
    for group in yaml.safe_load(FILE.read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
}
# Made by Prometheus itself of everything it asks.
OF_PROMETHEUS = {"up": {"job"}}
SITE = "https://docs.example.org/ranger-cdap"
NOW = 1_800_000_000.0
HOUR = 3600.0

_FORM = re.compile(
    r"(?P<age>time\(\) - )?(?P<increase>increase\()?(?P<name>[a-z_]+)(?:\{(?P<labels>[^}]*)\})?"
    r"(?:\[(?P<range>\d+[mhd])\]\))? (?P<compare>==|>|<) (?P<number>[\d.]+)"
)
_LABEL = re.compile(r'([a-z_]+)(=~|=)"([^"]*)"')
_COMPARE: dict[str, Callable[[float, float], bool]] = {"==": operator.eq, ">": operator.gt, "<": operator.lt}

Samples = dict[tuple[str, Labels], float]


@dataclass(frozen=True)
class Expression:
    age: bool
    increase: bool
    name: str
    labels: tuple[tuple[str, str, str], ...]
    compare: str
    number: float

    def selects(self, labels: Labels) -> bool:
        given = dict(labels)
        return all(
            re.fullmatch(value, given.get(name, "")) if how == "=~" else given.get(name, "") == value
            for name, how, value in self.labels
        )

    def holds(self, now: Samples, before: Samples) -> bool:
        for (name, labels), value in now.items():
            if name != self.name or not self.selects(labels):
                continue
            figure = NOW - value if self.age else value - before.get((name, labels), 0.0) if self.increase else value
            if _COMPARE[self.compare](figure, self.number):
                return True
        return False


def expression(rule: str) -> Expression:
    found = _FORM.fullmatch(RULES[rule]["expr"])
    assert found is not None, f"{rule}: extend the forms that this test understands"
    assert bool(found["increase"]) == bool(found["range"])
    labels = found["labels"] or ""
    assert ",".join("".join((n, how, f'"{v}"')) for n, how, v in _LABEL.findall(labels)) == labels
    return Expression(
        bool(found["age"]), bool(found["increase"]), found["name"], tuple(_LABEL.findall(labels)), found["compare"],
        float(found["number"]),
    )  # fmt: skip


def figures(world: World) -> Samples:
    return samples(world.ask(None, "GET", "/metrics").body.decode())


def life(state: State, seconds_ago: float) -> Life:
    return Life(
        entity=entity_id("dataset", ["ns1", "kv"]),
        number=1,
        state=state,
        creator="alice",
        begun=Position(round((NOW - seconds_ago) * 1000), False, "audit", "e"),
    )


def after_a_run(**report: Any) -> Samples:
    report = {"sources": (SourceReport("audit", 10, 0, 3),), "counts": {State.APPLIED: 7}} | report
    return samples(metrics_text(RunReport(**report), began=NOW - 70, ended=NOW - 60).decode())


GOOD_RUN = after_a_run()


def test_names_and_their_meaning() -> None:
    assert len(RULES) >= 15
    for name, rule in RULES.items():
        assert name.startswith("RangerCdap")
        assert rule["labels"].keys() == {"severity"}
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert rule["annotations"].keys() == {"summary", "runbook_url"}
        assert rule["annotations"]["summary"].endswith(".")


def test_each_alert_leads_to_its_runbook_and_each_runbook_is_of_an_alert() -> None:
    sections = re.findall(r"^### (\w+)\n((?:(?!^#).*\n)+)", RUNBOOKS.read_text(encoding="utf-8"), re.MULTILINE)
    assert [name for name, _ in sections] == list(RULES)
    for name, text in sections:
        assert RULES[name]["annotations"]["runbook_url"] == f"{SITE}/how-to/{RUNBOOKS.stem}/#{name.lower()}"
        assert [word for word in ("- **Look:** ", "- **Do:** ") if text.count(word) != 1] == []


@pytest.fixture(scope="module")
def exported(world: World) -> Samples:
    """Before anybody asked: a counter that is not there yet has no increase when it comes."""
    return figures(world) | GOOD_RUN


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[World]:
    rights = [
        policy(1, {"namespace": "ns1"}, ["alice"], ["read"]),
        policy(2, {"namespace": "ns1", "dataset": "*"}, ["alice"], ["admin", "write"]),
    ]
    with serving(rights, tmp_path) as running:
        yield running


@pytest.mark.parametrize("rule", RULES)
def test_every_figure_label_and_value_is_exported(exported: Samples, rule: str) -> None:
    wanted = expression(rule)
    if wanted.name in OF_PROMETHEUS:
        assert {name for name, _, _ in wanted.labels} <= OF_PROMETHEUS[wanted.name]
        return
    names = {name for name, _ in exported}
    assert wanted.name in names
    labels = {label for name, labels in exported if name == wanted.name for label, _ in labels}
    assert {name for name, _, _ in wanted.labels} <= labels
    told = set(re.findall(r"\$labels\.(\w+)", RULES[rule]["annotations"]["summary"]))
    assert told <= labels
    for name, how, value in wanted.labels:
        values = {dict(labels).get(name) for each, labels in exported if each == wanted.name}
        if name == "state":
            assert set(value.split("|") if how == "=~" else [value]) <= values


def becomes(state: PolicyState, age: float | None = None) -> Callable[[World], None]:
    def change(world: World) -> None:
        snapshot = world.state.authorizer.snapshot
        engine = snapshot.engine if state.decides else None
        # The service tells the age by its own clock.
        contact = None if age is None else time.time() - age
        world.becomes(Snapshot(engine, state, "", contact_at=contact))

    return change


class Full:
    """An audit sink whose disk is full."""

    def write(self, records: object) -> None:
        raise OSError(28, "No space left on device")

    def close(self) -> None: ...


def audit_is_lost(world: World) -> None:
    ((name, service),) = world.state.services.items()
    trail = AuditTrail([Undelayed(Full())])
    world.state.services[name] = RangerService(name, service.refresher, trail, None, "")  # type: ignore[index]
    record = AuditRecord(
        repo="cdapdev", reqUser="alice", evtTime=1, access="x", resource="r", resType="dataset", action="read",
        result=1, policy=1,
    )  # fmt: skip
    trail.write([record])


def audit_is_required(world: World) -> None:
    world.state.authorizer.decider._audit = trail = AuditTrail([Undelayed(Full())], GroupCommit(Full(), capacity=10))
    ((name, service),) = world.state.services.items()
    world.state.services[name] = RangerService(name, service.refresher, trail, None, "")  # type: ignore[index]
    assert not world.state.authorizer.check("alice", (), "namespace.get", entity_id("namespace", ("ns1",))).allowed


def a_broken_record(world: World) -> None:
    world.ask("audit", "POST", "/cdap/v1/audit", {"records": [record(instance="another")]})


def an_unknown_check(world: World) -> None:
    entity = {"type": "NO_SUCH_TYPE", "parts": ["ns1"]}
    question = {"principal": {"name": "alice"}, "entity": entity, "permissions": ["STANDARD.GET"]}
    world.ask("enforce", "POST", "/cdap/v1/enforce", question)


def another_instance(world: World) -> None:
    world.ask("enforce", "POST", "/cdap/v1/hello", {"extension": "x", "instance": "another"})


def a_full_disk(world: World) -> None:
    """alice may make a dataset, if only it could be journalled."""
    with full_disk(10):
        assert not ask(world, question(of=("DATASET", "ns1", "new")))["allowed"]


def not_ready_and_asked(world: World) -> None:
    becomes(PolicyState.NOT_READY)(world)
    assert world.ask(None, "GET", "/health/ready").status == 503


FAULTS: dict[str, tuple[Callable[[World], None], set[str]]] = {
    "nothing": (lambda _: None, set()),
    "no policies yet": (becomes(PolicyState.NOT_READY), {"RangerCdapNotReady"}),
    "policies too old": (becomes(PolicyState.EXPIRED, 90_000), {"RangerCdapNotReady", "RangerCdapPoliciesOld"}),
    "service gone from Ranger": (becomes(PolicyState.GONE), {"RangerCdapNotReady"}),
    "Ranger is away": (becomes(PolicyState.STALE, 600), {"RangerCdapPoliciesStale"}),
    "Ranger is away all day": (
        becomes(PolicyState.STALE, 50_000),
        {"RangerCdapPoliciesStale", "RangerCdapPoliciesOld"},
    ),
    "a request fails": (not_ready_and_asked, {"RangerCdapNotReady", "RangerCdapRequestsFail"}),
    "an audit sink fails": (audit_is_lost, {"RangerCdapAuditLost"}),
    "what must be audited cannot be": (audit_is_required, {"RangerCdapNotAuditable", "RangerCdapAuditLost"}),
    "a record is refused": (a_broken_record, {"RangerCdapRecordsRefused"}),
    "the disk is full": (a_full_disk, {"RangerCdapChecksNotJournalled"}),
    "CDAP is newer": (an_unknown_check, {"RangerCdapUnknownChecks"}),
    "CDAP has another instance": (another_instance, {"RangerCdapSettingsDiffer"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_with_the_service_and_nothing_else_is_told(fresh: World, fault: str) -> None:
    happens, told = FAULTS[fault]
    before = figures(fresh)
    happens(fresh)
    now = figures(fresh)

    assert {rule for rule in RULES if expression(rule).holds(now, before)} == told


RUNS: dict[str, tuple[Samples, set[str]]] = {
    "a good run": (GOOD_RUN, set()),
    "the last run was long ago": (
        samples(metrics_text(RunReport(sources=()), began=0, ended=NOW - 2 * HOUR).decode()),
        {"RangerCdapSyncNotRun"},
    ),
    "Ranger went away": (
        after_a_run(error=AdminUnreachable("Ranger Admin is unavailable")),
        {"RangerCdapSyncIncomplete"},
    ),
    "a user is not known yet": (after_a_run(waiting=(life(State.PENDING, HOUR),)), set()),
    "a user is not known for long": (after_a_run(waiting=(life(State.PENDING, 3 * HOUR),)), {"RangerCdapSyncLag"}),
    "somebody else's policy": (
        after_a_run(waiting=(life(State.BLOCKED, 3 * HOUR),), counts={State.BLOCKED: 1}),
        {"RangerCdapGrantsBlocked"},
    ),
    "Ranger refuses": (
        after_a_run(waiting=(life(State.FAILED, 60),), counts={State.FAILED: 1}),
        {"RangerCdapGrantsFailed"},
    ),
    "two may have created it": (
        after_a_run(waiting=(life(State.CONTESTED, 3 * HOUR),), counts={State.CONTESTED: 1}),
        {"RangerCdapCreatorContested"},
    ),
    "it may be deleted": (
        after_a_run(waiting=(life(State.SUSPENDED, 3 * HOUR),), counts={State.SUSPENDED: 1}),
        {"RangerCdapGrantsSuspended"},
    ),
    "a grant that is contested is still there": (
        after_a_run(waiting=(replace(life(State.CONTESTED, 3 * HOUR), revoke=True),), counts={State.CONTESTED: 1}),
        {"RangerCdapCreatorContested", "RangerCdapSyncLag"},
    ),
    "the decision service is silent": (after_a_run(silent=("audit",)), {"RangerCdapDecisionServiceSilent"}),
    "a line is not believed": (
        after_a_run(sources=(SourceReport("audit", 10, 1, 3),)),
        {"RangerCdapSyncLinesRejected"},
    ),
}


@pytest.mark.parametrize("run", RUNS)
def test_what_is_wrong_with_the_sync_job_and_nothing_else_is_told(run: str) -> None:
    now, told = RUNS[run]
    assert {rule for rule in RULES if expression(rule).holds(now, now)} == told


def test_the_oldest_pending_time_is_nan_without_a_pending_change() -> None:
    name = ("ranger_cdap_sync_oldest_pending_timestamp_seconds", frozenset())
    assert math.isnan(GOOD_RUN[name])
    waiting = (life(State.PENDING, 10), life(State.CLOSING, 30), life(State.BLOCKED, 99))
    assert after_a_run(waiting=waiting)[name] == NOW - 30
