"""Replay of an audit: the policies that made it differ nowhere, and others exactly where they decide otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

import servicedef
from ranger_cdap.audit.record import AuditedAccess, AuditedService, AuditRecord, record_of
from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.engine import AccessRequest, PolicyEngine, decode_service_policies
from ranger_cdap.plugins.hookspecs import hookimpl
from ranger_cdap.plugins.manager import plugin_manager
from ranger_cdap.ranger_model.audit_event import AuditEvent, read_audit_line
from ranger_cdap.tools.insights.facts import Redecided
from ranger_cdap.tools.insights.replay import Replayer, changed_rows
from ranger_cdap.tools.insights.request import (
    A_PATTERN,
    FEWER_LEVELS,
    NO_ACCESS,
    NO_TYPE,
    OTHER_PRIVILEGE,
    OTHER_REASON,
    OUTSIDE,
)
from tests.authz.fixtures import Memory, authorizer, document, engine, policy
from tests.tools.insights.audit_fixtures import NOON, facts_of, line

ENTITIES = (
    entity_id("instance", []),
    entity_id("namespace", ["ns1"]),
    entity_id("namespace", ["ns2"]),
    entity_id("dataset", ["ns1", "a.b"]),
    entity_id("dataset", ["ns2", "a.b"]),
    entity_id("application", ["ns1", "etl"]),
    entity_id("program", ["ns1", "etl", "workflow.W"]),
    entity_id("artifact", ["ns1", "core"]),
    entity_id("principal", ["svc/host@REALM"]),
)
USERS = ("alice", "bob", "carol")
GROUPS = {"alice": frozenset({"etl"}), "bob": frozenset({"etl", "ops"})}
ACCESSES = ("read", "write", "admin", "execute")
RESOURCES: tuple[dict[str, str], ...] = (
    {},
    {"namespace": "ns1"},
    {"namespace": "*"},
    {"namespace": "ns1", "dataset": "a*"},
    {"namespace": "*", "dataset": "a.b"},
    {"namespace": "ns1", "application": "etl"},
    {"namespace": "ns1", "application": "etl", "program": "*"},
    {"namespace": "ns1", "artifact": "core"},
    {"principal": "svc*"},
)
BEFORE_NOON = [{"startTime": "2020/01/01 00:00:00", "endTime": "2026/11/18 11:06:40", "timeZone": "UTC"}]


def item(accesses: Sequence[str], **who: Sequence[str]) -> dict[str, Any]:
    return {"accesses": [{"type": access} for access in accesses], **who}


SOME = st.lists(st.sampled_from(ACCESSES), min_size=1, max_size=4, unique=True)
PEOPLE = st.lists(st.sampled_from(USERS), max_size=2, unique=True)
TEAMS = st.lists(st.sampled_from(["etl", "ops", "public"]), max_size=2, unique=True)
ITEMS = st.lists(st.builds(item, SOME, users=PEOPLE, groups=TEAMS), max_size=2)


@st.composite
def policy_sets(draw: st.DrawFn) -> list[dict[str, Any]]:
    drawn = draw(st.lists(st.tuples(st.sampled_from(RESOURCES), ITEMS, ITEMS, st.booleans()), max_size=5))
    return [
        policy(
            number,
            resource,
            [],
            [],
            policyItems=allow,
            denyPolicyItems=deny,
            **({"validitySchedules": BEFORE_NOON} if ends else {}),
        )
        for number, (resource, allow, deny, ends) in enumerate(drawn, 1)
    ]


def record_line(record: AuditRecord) -> bytes:
    return msgspec.json.encode(record)


OPERATIONS = (
    ("dataset.get", 3),
    ("dataset.truncate", 3),
    ("application.deploy", 5),
    ("namespace.create", 1),
    ("program.start", 6),
    ("artifact.delete", 7),
    ("dataset.get", 4),
)


@settings(max_examples=150, deadline=None)
@given(
    policy_sets(),
    st.lists(st.tuples(st.sampled_from(USERS), st.sampled_from(OPERATIONS)), min_size=1, max_size=8),
)
def test_the_policies_that_made_the_records_of_operations_differ_nowhere(
    policies: list[dict[str, Any]], asked: list[tuple[str, tuple[str, int]]]
) -> None:
    made, memory = engine(policies), Memory()
    with authorizer(made, memory, groups_of=lambda user: GROUPS.get(user, frozenset())) as program:
        for user, (operation, place) in asked:
            program.check(user, (), operation, ENTITIES[place])
    decide = Replayer(made, GROUPS).decide
    facts = facts_of(map(record_line, memory.records), decide=decide)
    assert changed_rows(facts, made, GROUPS) == []
    assert facts.lines.accepted == len(memory.records)
    assert set(facts.not_replayed) <= {OTHER_PRIVILEGE, OTHER_REASON}


@settings(max_examples=150, deadline=None)
@given(
    policy_sets(),
    policy_sets(),
    st.lists(
        st.tuples(
            st.sampled_from(USERS),
            st.sampled_from(ENTITIES),
            st.sampled_from((*ACCESSES, "_any")),
            st.integers(NOON - 2, NOON + 2),
            st.integers(1, 3),
        ),
        min_size=1,
        max_size=12,
    ),
)
def test_a_replay_is_the_evaluation_of_each_record(
    old: list[dict[str, Any]], new: list[dict[str, Any]], asked: list[tuple[str, EntityId, str, int, int]]
) -> None:
    before, after = engine(old), engine(new)
    expected: dict[tuple[str, str, str, str, str, int, int], int] = {}
    lines = []
    for user, entity, access, time, count in asked:
        levels = dict(zip(before.view.model.paths[entity.type], ("cdap", *entity.parts), strict=True))
        request = AccessRequest(levels, access, user, GROUPS.get(user, frozenset()), access_time=time)
        decision, now = before.evaluate(request), after.evaluate(request)
        audited = AuditedAccess(time, user, access, access, levels.values(), entity.type, None)
        made = record_of(decision, AuditedService.of(before), audited, allowed=decision.allowed, reason=decision.reason)
        lines.append(record_line(msgspec.structs.replace(made, event_count=count)))
        if decision.allowed != now.allowed:
            key = (now.allowed, f"user {user}", access, f"{entity.type} {made.resource}")
            expected[key] = expected.get(key, 0) + count

    same = facts_of(lines, decide=Replayer(before, GROUPS).decide)
    assert changed_rows(same, before, GROUPS) == []
    rows = changed_rows(facts_of(lines, decide=Replayer(after, GROUPS).decide), after, GROUPS)
    counted: dict[tuple[bool, str, str, str], int] = {}
    for row in rows:
        key = (row.gained, *row.who, *row.accesses, row.resource)
        counted[key] = counted.get(key, 0) + row.times
    assert counted == expected
    assert [row.gained for row in rows] == sorted((row.gained for row in rows), reverse=True)


POLICIES = (policy(1, {"namespace": "ns1", "dataset": "purchases"}, ["alice"], ["read"]),)


def decided(policies: Sequence[dict[str, Any]] = POLICIES, **fields: Any) -> Redecided:
    event = read_audit_line(line(**fields).decode())
    assert isinstance(event, AuditEvent)
    return Replayer(engine(policies), {}).decide(event)


NOT_REPLAYED = {
    OUTSIDE: {"enforcer": "hadoop-acl"},
    NO_TYPE: {"resType": "database"},
    NO_ACCESS: {"action": "assign"},
    FEWER_LEVELS: {"resource": "cdap/ns1"},
    A_PATTERN: {"resource": "cdap/ns1/sales*"},
    OTHER_PRIVILEGE: {
        "result": 0,
        "reason": "alice needs WRITE on namespace:ns1; bob needs READ on dataset:ns1.purchases",
    },
    OTHER_REASON: {"result": 0, "reason": "vetoed: closed on Sundays"},
}


@pytest.mark.parametrize(("why", "fields"), NOT_REPLAYED.items(), ids=range(len(NOT_REPLAYED)))
def test_a_record_that_is_no_request_is_counted_with_its_reason(why: str, fields: dict[str, Any]) -> None:
    assert decided(**fields) == Redecided(None, -1, why)
    facts = facts_of([line(**fields), line(**fields)], decide=Replayer(engine(POLICIES), {}).decide)
    assert facts.not_replayed == {why: 2}
    assert changed_rows(facts, engine(POLICIES), {}) == []


@pytest.mark.parametrize(
    "reason",
    [
        "",
        "alice needs READ on dataset:ns1.purchases",
        "alice needs WRITE on namespace:ns1; alice needs READ or WRITE on dataset:ns1.purchases",
        "alice (running) needs READ on dataset:ns1.purchases",
        "not enforced; alice needs READ on dataset:ns1.purchases",
        "alice needs any privilege on dataset:ns1.purchases or in it",
    ],
)
def test_a_denial_for_its_own_privilege_is_decided_again(reason: str) -> None:
    assert decided(result=0, reason=reason) == Redecided(True, 1)


def test_access_types_of_operations_that_mean_any() -> None:
    assert decided(action="any") == Redecided(True, 1)
    above = {"resource": "cdap/ns1", "resType": "namespace"}
    for access in ("any", "visible"):
        assert decided(action=access, **above) == Redecided(True, 1), "the dataset below counts"
    assert decided(**above) == Redecided(False, -1)


def test_the_last_level_keeps_its_slashes() -> None:
    policies = [policy(1, {"principal": "svc/host@REALM"}, ["alice"], ["read"])]
    assert decided(policies, resource="cdap/svc/host@REALM", resType="principal") == Redecided(True, 1)


def test_time_and_address_of_the_record_decide() -> None:
    ended = [{**POLICIES[0], "validitySchedules": BEFORE_NOON}]
    assert decided(ended, evtTime=NOON - 1000).allowed is True
    assert decided(ended, evtTime=NOON + 1000).allowed is False


def of_a_network(network: str) -> tuple[PolicyEngine, list[dict[str, Any]]]:
    condition = {"name": "ip", "evaluator": "org.apache.ranger.plugin.conditionevaluator.RangerIpMatcher"}
    definition = {**servicedef.service_definition(), "policyConditions": [condition]}
    allowed = {**item(["read"], users=["alice"]), "conditions": [{"type": "ip", "values": [network]}]}
    policies = [{**POLICIES[0], "policyItems": [allowed]}]
    return PolicyEngine.build(decode_service_policies(msgspec.json.encode(document(policies, definition)))), policies


def test_a_condition_on_the_address_gets_that_of_the_record() -> None:
    made, _ = of_a_network("10.*")
    for address, allowed in (("10.1.2.3", True), ("192.168.0.1", False)):
        event = read_audit_line(line(cliIP=address).decode())
        assert event is not None
        assert Replayer(made, {}).decide(event).allowed is allowed


class Veto:
    """A plugin that denies everything."""

    @hookimpl
    def ranger_cdap_veto(self, answer: object) -> str:
        return "closed"


def test_a_veto_is_no_decision_of_policies() -> None:
    plugins, memory, made = plugin_manager(entry_points=False), Memory(), engine(POLICIES)
    plugins.register(Veto())
    with authorizer(made, memory, plugins=plugins) as program:
        answer = program.check("alice", (), "dataset.get", entity_id("dataset", ["ns1", "purchases"]))
    assert not answer.allowed
    facts = facts_of(map(record_line, memory.records), decide=Replayer(made, {}).decide)
    assert facts.not_replayed == {OTHER_REASON: len(memory.records)}


def test_what_is_only_reported_is_replayed_by_the_policies_decision() -> None:
    from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode

    memory, made = Memory(), engine(POLICIES)
    reports = structs.replace(Enforcement(), outside=UnenforcedMode.REPORT, operations=frozenset({"namespace.create"}))
    with authorizer(made, memory, enforcement=reports) as program:
        assert program.check("bob", (), "dataset.get", entity_id("dataset", ["ns1", "purchases"])).allowed
    (denied,) = (record for record in memory.records if record.resType == "dataset")
    assert (denied.result, denied.enforced) == (0, False)
    facts = facts_of(map(record_line, memory.records), decide=Replayer(made, {}).decide)
    assert changed_rows(facts, made, {}) == []
