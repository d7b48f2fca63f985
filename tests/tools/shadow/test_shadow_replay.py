"""Accesses recorded before this project decided: each is decided again, and what is different now is in the report.

The predecessor's records are made here of the recorded calls of a CDAP 6.11.1, by the rule of the old jar as
`predecessor_answers` states it; what CDAP would be answered today is asked of the enforcer, with CDAP's own hints.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.audit.verify import Place
from ranger_cdap.authz.access_replay import AccessReplay
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cdap.answer import EvaluatedPrivilege, evaluate_privilege
from ranger_cdap.cdap.checks.check_table import (
    all_cells,
    calling_methods,
    cell_of,
    incidental_methods,
    known_permissions,
)
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.checks.master import MasterCreate
from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode
from ranger_cdap.cdap.entity import EntityId, entity_types
from ranger_cdap.cdap.existence import Existence
from ranger_cdap.cdap.profile import profile_names
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.tools.policies.needed_policies import needed_policies
from ranger_cdap.tools.shadow.predecessor_audit import read_predecessor_line
from ranger_cdap.tools.shadow.shadow_replay import ReadLine, ShadowReplay, WhyUndecided
from ranger_cdap.tools.shadow.shadow_report import ShadowChange, ShadowReport, ShadowRow, Target, gaps
from tests.authz.fixtures import Memory, authorizer, engine, policy
from tests.cdap.checks.predecessor_answers import POLICIES, made, old_access, old_answer, old_resource, recorded
from tests.cdap.fixtures import Policies

Json = dict[str, Any]

SERVICE = "cdapdev"
DENIED, ALLOWED = ShadowChange.DENIED, ShadowChange.ALLOWED
NOTHING_ENFORCED = Enforcement(frozenset(), None, UnenforcedMode.REPORT)
READER: ReadLine = partial(read_predecessor_line, service=SERVICE, instance="cdap")


def event(user: str = "alice", result: int = 1, **more: Any) -> Json:
    """A line of the predecessor's audit, as Ranger 0.7 wrote it."""
    return {
        "repoType": 11, "repo": SERVICE, "reqUser": user, "evtTime": "2020-01-01 10:00:00.123", "access": None,
        "resource": "cdap/ns1/kv", "resType": "dataset", "action": "read", "result": result, "agent": "cdap",
        "policy": 7 if result else -1, "enforcer": "ranger-acl", "cliIP": "master.example.com",
        "logType": "RangerAudit", "id": "5e8c-0", "seq_num": 1, "event_count": 1, "event_dur_ms": 0, "tags": [], **more,
    }  # fmt: skip


@lru_cache(maxsize=4)
def built(policies: str) -> PolicyEngine:
    return engine(json.loads(policies))


@dataclass(frozen=True)
class World:
    """Today's policies and profile; nothing is enforced yet, which a replay does not mind."""

    policies: tuple[Json, ...] = ()
    profile: str = "default"

    @property
    def engine(self) -> PolicyEngine:
        return built(json.dumps(self.policies))

    def authorizer(self, memory: Memory | None = None) -> Authorizer:
        return authorizer(self.engine, memory, profile=self.profile, enforcement=NOTHING_ENFORCED)

    def enforcing(self) -> AccessEnforcer:
        return AccessEnforcer(authorizer(self.engine, profile=self.profile), MasterCreate.DENY)

    def report(self, lines: Iterable[Json | bytes], since: int = 0) -> tuple[ShadowReport, list[ShadowRow]]:
        memory = Memory()
        found = ShadowReport(SERVICE, since)
        decide = AccessReplay(self.authorizer(memory), MasterCreate.DENY).answers_to_access
        replay = ShadowReplay(found, READER, decide)
        for number, line in enumerate(lines, 1):
            replay.read(Place("file", number), line if isinstance(line, bytes) else json.dumps(line).encode())
        assert memory.records == [], "a replay is no access"
        ask = Policies(self.engine)

        def evaluate(user: str, _: str, entity: Target, actions: tuple[str, ...]) -> EvaluatedPrivilege:
            return evaluate_privilege(user, entity, actions, ask, ask.names)

        return found, list(found.by_now(evaluate))

    def changes(self, *lines: Json | bytes) -> set[tuple[str, str, str]]:
        return {(row.key.change.value, row.key.operation, row.key.decisive) for row in self.report(lines)[1]}

    def closed(self, rows: Sequence[ShadowRow]) -> World:
        """The world after the policies that close the gaps were applied."""
        first = 1 + max((one["id"] for one in self.policies), default=0)
        more = (
            {"version": 1, **one.document(), "id": number}
            for number, one in enumerate(needed_policies(gaps(rows), "cdap"), first)
        )
        return replace(self, policies=(*self.policies, *more))


def old_events(user: str, check: CdapCheck, answer: bool) -> Iterator[Json]:
    """What the old jar's audit has of a check of one permission."""
    asked = old_resource(check)
    if asked is not None and len(check.permissions) == 1:
        kind, values = asked
        access = old_access(check, check.permissions[0])
        yield event(user, int(answer), resource="/".join(values), resType=kind, action=access)


def as_recorded(check: CdapCheck) -> CdapCheck:
    """The check as the old jar's record tells it: without the hint, where that says more than the record can."""
    kind, methods = _kind(check), calling_methods(check.hint)
    permission = check.permissions[0].partition(".")[2]
    cell = cell_of(kind, permission, on_parent=False)
    is_part = cell is None or cell.select_by_hint(methods) in cell.steps
    return replace_hint(check, None) if is_part else check


def new(_entity: EntityId) -> Existence:
    """What is created was not there, as a replay takes it."""
    return Existence.ABSENT


def _kind(check: CdapCheck) -> str:
    asked = old_resource(check)
    assert asked is not None
    return asked[0]


def replace_hint(check: CdapCheck, hint: str | None) -> CdapCheck:
    return msgspec.structs.replace(check, hint=hint)


@settings(max_examples=8)
@given(rows=POLICIES, now=POLICIES, profile=st.sampled_from(profile_names()))
def test_every_check_that_is_answered_otherwise_today_is_in_the_report(rows: Any, now: Any, profile: str) -> None:
    before, world = engine(made(rows)), World(tuple(made(now)), profile)
    enforcing = world.enforcing()
    examined = 0
    for check in recorded():
        for user in ("alice", "eve"):
            was = old_answer(before, user, check)
            for line in old_events(user, check, was) if check.child_type is None else ():
                today = enforcing.enforce(user, as_recorded(check), existence=new)
                found, _ = world.report([line])
                rows_now = {(key.change, key.operation) for key in found.rows}
                change = DENIED if was else ALLOWED
                differing = {(change, one.operation) for one in today.answers if one.allowed is not was}
                assert rows_now >= differing or (today.allowed is was and not was), line
                assert found.reported == 1
                examined += 1
    assert examined > 100


@cache
def _hints() -> tuple[str | None, ...]:
    methods = {m for cell in all_cells().values() for row in cell.rows.values() for m in row}
    names = {permission.partition(".")[2] for permission in known_permissions()}
    methods.update(m for kind in entity_types() for name in names for m in incidental_methods(kind, name))
    return (None, *sorted(m if "." in m else f"{m}.x" for m in methods))


@settings(max_examples=15)
@given(rows=POLICIES, profile=st.sampled_from(profile_names()), data=st.data())
def test_a_row_is_an_operation_that_cdap_can_check_and_that_is_answered_otherwise(
    rows: Any, profile: str, data: st.DataObject
) -> None:
    world = World(tuple(made(rows)), profile)
    check = data.draw(st.sampled_from([one for one in recorded() if old_resource(one) and len(one.permissions) == 1]))
    was = data.draw(st.booleans())
    enforcing, deciding = world.enforcing(), authorizer(world.policies, profile=profile)
    (line,) = old_events("alice", check, was)
    found, _ = world.report([line])
    access = line["action"]
    asked = [
        msgspec.structs.replace(check, permissions=(permission,), hint=hint, child_type=None)
        for permission in known_permissions()
        if old_access(msgspec.structs.replace(check, child_type=None), permission) == access
        for hint in _hints()
    ]
    answers = {a.operation: a.allowed for one in asked for a in enforcing.enforce("alice", one, existence=new).answers}
    for key in found.rows:
        kind, _, verb = key.operation.partition(".")
        if key.operation not in answers:
            # It lists entities, no permission leads to it, or no calling method is known that selects it.
            entity = deciding.decider.config.profile.operation(key.operation).entity
            assert verb == "list" or access in ("read", "write", "execute") or entity == kind
            continue
        assert answers[key.operation] is not (was and key.operation != "program.get_history"), (key, line)
    if not found.rows:
        assert (
            enforcing.enforce("alice", as_recorded(check), existence=new).allowed is was or check.child_type is not None
        )


@settings(max_examples=20)
@given(rows=POLICIES, profile=st.sampled_from(profile_names()), denies=st.booleans())
def test_once_the_gaps_are_closed_only_policies_deny(rows: Any, profile: str, denies: bool) -> None:
    policies = ({**one, "denyPolicyItems": [] if not denies else one.get("denyPolicyItems", [])} for one in made(rows))
    world = World(tuple(policies), profile)
    lines = [line for check in recorded() for user in ("alice", "eve") for line in old_events(user, check, True)]
    found, before = world.report(lines)
    assert any(row.key.change is DENIED for row in before)
    remaining = [row for row in world.closed(before).report(lines)[1] if row.key.change is DENIED]
    denying = {one["id"] for one in world.policies if one["denyPolicyItems"]}
    for row in remaining:
        # What is denied for another reason than lack of a privilege cannot be granted; nor what a policy denies.
        assert denying or not row.key.missing, row
    assert found.reported == len(lines)


BYTES = st.binary(max_size=40)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def lines_of(draw: st.DrawFn) -> bytes:
    """A good line with some fields changed, removed or added, or anything at all."""
    good = draw(st.sampled_from([event(), event("eve", 0)]))
    for name in draw(st.lists(st.sampled_from(sorted(good)), max_size=3)):
        good = (
            {**good, name: draw(JSON_VALUES)} if draw(st.booleans()) else {n: v for n, v in good.items() if n != name}
        )
    text = json.dumps(good | draw(st.dictionaries(st.text(max_size=5), JSON_VALUES, max_size=1))).encode()
    return draw(st.sampled_from([text, text[:-3], b"INFO x: " + text, b"\xff" + text]) | BYTES)


@given(lines=st.lists(lines_of(), max_size=12), since=st.sampled_from([0, 10**12]))
def test_every_line_is_counted_exactly_once_whatever_it_is(lines: list[bytes], since: int) -> None:
    found, _ = World((policy(7, {"namespace": "ns1"}, ["alice"], ["read"]),)).report(lines, since)
    counts = (found.changed, found.unchanged, found.not_decided, found.other_services, found.earlier, found.rejected)
    assert sum(counts) == len(lines)
    assert len(found.places) == found.rejected
    assert set(found.undecided) <= set(WhyUndecided)


# A line of the predecessor's audit, and what becomes of it: the reason, or how it is counted.
READ_KV = policy(7, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["read"])
LINES: list[tuple[Json | bytes, str]] = [
    (event(), "unchanged"),
    (event("eve", 0), "unchanged"),
    (event("eve"), "changed"),
    (event(result=0), "changed"),
    (event(evtTime=1_577_872_800_123), "unchanged"),
    (event(evtTime="2020-01-01T10:00:00.123Z"), "unchanged"),
    (b"2020-01-01 10:00:00,123 INFO  xaaudit.cdap: - " + json.dumps(event()).encode(), "unchanged"),
    ({name: value for name, value in event().items() if value is not None}, "unchanged"),
    (event(policy=-1), "unchanged"),
    (event(policy_version=3, cluster_name="c", zone_name=None, additional_info=None), "unchanged"),
    (event(resType="@dataset"), "unchanged"),
    (event(repo="hive"), "other_services"),
    (event(repo=""), "other_services"),
    (event(enforcer="hadoop-acl"), WhyUndecided.OTHER_AUTHORIZER),
    (event(access="dataset.get", reason="not enforced; it would be denied"), WhyUndecided.OWN_RECORD),
    ({"chain": "start", "evtTime": 1}, WhyUndecided.OWN_RECORD),
    (event(""), WhyUndecided.NO_USER),
    (event(reqUser=None), WhyUndecided.NO_USER),
    (event(resType="table"), WhyUndecided.UNKNOWN_TYPE),
    (event(resType=None, resource=None), WhyUndecided.UNKNOWN_TYPE),
    (event(resType="profile", resource="cdap/ns1/p"), WhyUndecided.UNKNOWN_TYPE),
    (event(action="select"), WhyUndecided.UNKNOWN_ACCESS),
    (event(action="READ"), WhyUndecided.UNKNOWN_ACCESS),
    (event(resource="cdap/ns1"), WhyUndecided.NO_ENTITY),
    (event(resource="cdap/ns1/*"), WhyUndecided.NO_ENTITY),
    (event(resource="cdap/ns1/a/b"), WhyUndecided.NO_ENTITY),
    (event(resType="program", resource="cdap/ns1/a/nothing.W"), WhyUndecided.NO_ENTITY),
    (event(resource="other/ns1/kv"), WhyUndecided.OTHER_INSTANCE),
    (event(resType="instance", resource="other", action="admin"), WhyUndecided.OTHER_INSTANCE),
    (event(resType="namespace", resource="cdap/ns1", result=0), WhyUndecided.SECURE_KEY),
    (b"", "rejected"),
    (b"{", "rejected"),
    (event(result=2), "rejected"),
    (event(evtTime="yesterday"), "rejected"),
    (event(evtTime=-1), "rejected"),
]


@pytest.mark.parametrize(("line", "counted"), LINES)
def test_a_line_of_the_predecessors_audit_is_decided_or_named(line: Json | bytes, counted: str) -> None:
    found, _ = World((READ_KV,), "cdap-6").report([line])
    if isinstance(counted, WhyUndecided):
        assert {why: one.count for why, one in found.undecided.items()} == {counted.value: 1}
    else:
        assert getattr(found, counted) == 1
        assert not found.undecided


# Today's policy of alice, an access of the predecessor, its answer; what is different now.
CHANGES: list[tuple[Json | None, Json, list[tuple[str, str, str]]]] = [
    (
        policy(1, {"namespace": "ns1"}, ["alice"], ["admin"]),
        event(resType="instance", resource="", action="_any", result=0),
        [],
    ),
    (
        policy(1, {}, ["alice"], ["read"]),
        event(resType="instance", resource="", action="_any", result=0),
        [
            ("newly allowed", f"instance.{verb}", f"{what} on instance:, by policy 1")
            for verb, what in (("get", "READ"), ("get_preference", "READ"))
        ],
    ),
    (
        policy(1, {"namespace": "ns1", "application": "a", "program": "spark.S"}, ["alice"], ["execute"]),
        event(resType="program", resource="cdap/ns1/a/spark.S", action="execute"),
        [],
    ),
    (
        policy(1, {"namespace": "ns1", "application": "a", "program": "spark.S"}, ["alice"], ["read"]),
        event(resType="program", resource="cdap/ns1/a/spark.S", action="_any"),
        [("newly allowed", "program.get_history", "READ on program:ns1.a.spark.S, by policy 1")],
    ),
    (
        policy(1, {"namespace": "ns1", "dataset": "kv"}, ["alice"], ["write"]),
        event(resType="artifact", resource="cdap/ns1/a", action="_any", result=0),
        [("newly allowed", "artifact.incidental", "any privilege on namespace:ns1, by policy 1")],
    ),
    *(
        (
            policy(1, {"namespace": namespace, "dataset": "kv"}, ["alice"], ["write"]),
            event(resType="namespace", resource=f"cdap/{namespace}", action="_any"),
            [("newly denied", f"namespace.{verb}", f"READ on namespace:{namespace}") for verb in verbs],
        )
        for namespace, verbs in {
            "ns1": ["get_preference", "get_metadata"],
            "system": ["get_preference", "get_metadata", "view_system_logs"],
        }.items()
    ),
    (
        policy(1, {"principal": "svc/h@R"}, ["alice"], ["admin"]),
        event(resType="principal", resource="cdap/svc/h@R", action="admin"),
        [],
    ),
    (
        policy(1, {"namespace": "ns1", "stream": "s"}, ["alice"], ["write"]),
        event(resType="stream", resource="cdap/ns1/s", action="read"),
        [("newly denied", "stream.action_read", "READ on stream:ns1.s")],
    ),
    (
        policy(1, {"namespace": "ns1"}, ["alice"], ["admin"]),
        event(resType="namespace", resource="cdap/ns1", action="admin"),
        [
            ("newly denied", "namespace.provision_credential", "EXECUTE on namespace:ns1"),
            ("newly denied", "namespace.read_repository", "READ on namespace:ns1"),
            ("newly denied", "namespace.set_preference", "WRITE on namespace:ns1"),
            ("newly denied", "namespace.write_repository", "WRITE on namespace:ns1"),
        ],
    ),
    (
        None,
        event("cdap", resType="artifact", resource="cdap/ns1/a", action="admin"),
        [
            ("newly denied", f"artifact.{verb}", what)
            for verb, what in [
                (
                    "add",
                    "the CDAP master user creates only datasets in a user namespace: `master.create` is `deny`",
                ),
                *((verb, "ADMIN on artifact:ns1.a") for verb in ("delete", "delete_property", "write_metadata")),
                ("write_property", "ADMIN on artifact:ns1.a"),
            ]
        ],
    ),
]


@pytest.mark.parametrize(("today", "line", "expected"), CHANGES)
def test_each_operation_that_an_access_may_have_been_is_compared(
    today: Json | None, line: Json, expected: list[tuple[str, str, str]]
) -> None:
    world = World((today,) if today else (), "cdap-6")
    assert world.changes(line) == set(expected)


def test_records_before_since_and_a_summary_count_as_they_say() -> None:
    world = World((READ_KV,))
    assert world.report([event("eve")], since=1_577_872_800_124)[0].earlier == 1
    found, rows = world.report([event("eve", event_count=40), event("eve")])
    assert (found.changed, {row.count for row in rows}) == (2, {41})
