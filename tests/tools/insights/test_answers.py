"""Answers from an audit: privileges and policies not used, denials that repeat, people who stopped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

import servicedef
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.ranger.refresh.documents import Documents
from ranger_cdap.tools.insights.activity import repeated_denials, stopped_users
from ranger_cdap.tools.insights.facts import DAY, AuditFacts
from ranger_cdap.tools.insights.privileges import EVERYBODY, OWNERS, unused_policies, unused_privileges
from ranger_cdap.tools.insights.replay import Replayer
from tests.authz.fixtures import document, engine, policy
from tests.tools.insights.audit_fixtures import NOON, facts_of, line
from tests.tools.insights.test_replay import GROUPS, item, policy_sets

CUTOFF = NOON - 30 * DAY
OLD, RECENT = CUTOFF - DAY, CUTOFF + DAY
PURCHASES = {"namespace": "ns1", "dataset": "purchases"}
ROLES = [{"name": "runners", "users": [{"name": "rita"}], "groups": [{"name": "ops"}]}]


def index_of(policies: Sequence[dict[str, Any]]) -> PolicyIndex:
    roles = {"serviceName": "cdapdev", "roleVersion": 1, "rangerRoles": ROLES}
    return PolicyIndex.of(Documents(msgspec.json.encode(document(policies)), msgspec.json.encode(roles)))


def replayed(policies: Sequence[dict[str, Any]], *records: dict[str, Any]) -> AuditFacts:
    return facts_of([line(**one) for one in records], decide=Replayer(engine(policies), GROUPS).decide)


def unused(policies: Sequence[dict[str, Any]], *records: dict[str, Any]) -> list[tuple[Any, ...]]:
    rows = unused_privileges(index_of(policies), replayed(policies, *records), GROUPS, CUTOFF).rows
    return [(row[0], *row[3:]) for row in rows]


def test_a_privilege_without_a_recent_use_is_reported_for_each_person_and_item() -> None:
    policies = [
        policy(
            1,
            PURCHASES,
            [],
            [],
            policyItems=[item(["read", "write"], users=["alice", "bob"]), item(["admin"], users=["bob"])],
        ),
    ]
    assert unused(
        policies,
        {"evtTime": RECENT},
        {"evtTime": OLD, "action": "write"},
        {"evtTime": RECENT, "reqUser": "bob"},
        {"evtTime": RECENT, "reqUser": "bob", "action": "write", "result": 0},
    ) == [
        (1, 1, "alice", "", ("write",), OLD),
        (1, 1, "bob", "", ("write",), None),
        (1, 2, "bob", "", ("admin",), None),
    ]


def test_the_first_instant_of_the_days_counts() -> None:
    policies = [policy(1, PURCHASES, ["alice"], ["read"])]
    assert unused(policies, {"evtTime": CUTOFF}) == []
    assert unused(policies, {"evtTime": CUTOFF - 1}) == [(1, 1, "alice", "", ("read",), CUTOFF - 1)]


def test_members_of_groups_and_roles_are_people() -> None:
    policies = [
        policy(1, PURCHASES, [], [], policyItems=[item(["read"], groups=["etl"], roles=["runners"])]),
    ]
    assert unused(policies, {"evtTime": RECENT}) == [
        (1, 1, "bob", "group etl", ("read",), None),
        (1, 1, "rita", "role runners", ("read",), None),
    ]


def test_people_who_cannot_be_enumerated_are_named_as_such() -> None:
    policies = [
        policy(
            1,
            PURCHASES,
            [],
            [],
            policyItems=[item(["read"], groups=["public", "unheard-of"], users=["{USER}", "{OWNER}"])],
        ),
    ]
    named = [(1, 1, None, through, ("read",), None) for through in (EVERYBODY, OWNERS, EVERYBODY, "group unheard-of")]
    assert unused(policies, {"evtTime": RECENT, "result": 0}) == named
    assert unused(policies, {"evtTime": RECENT, "reqUser": "zoe"}) == []


def test_what_another_policy_gives_first_is_no_use() -> None:
    policies = [
        policy(1, PURCHASES, ["alice"], ["read"]),
        policy(2, {"namespace": "ns1", "dataset": "*"}, ["alice"], ["read"]),
    ]
    decided = Replayer(engine(policies), {}).decide
    facts = facts_of([line(evtTime=RECENT, policy=-1)], decide=decided)
    (use,) = facts.uses
    rows = unused_privileges(index_of(policies), facts, {}, CUTOFF).rows
    assert [row[0] for row in rows] == [{1: 2, 2: 1}[use.by]]


def test_the_recorded_policy_counts_if_its_id_is_rangers() -> None:
    ended = {"validitySchedules": [{"startTime": "2100/01/01 00:00:00", "endTime": "", "timeZone": "UTC"}]}
    for guid, expected in (("", [(7, 1, "alice", "", ("read",), None)]), ("16beea20-91f3", [])):
        policies = [policy(7, PURCHASES, ["alice"], ["read"], guid=guid, **ended)]
        assert unused(policies, {"evtTime": RECENT, "policy": 7}) == expected


def test_an_implied_access_uses_what_implies_it() -> None:
    definition = servicedef.service_definition()
    names = [access["name"] for access in definition["accessTypes"] if "read" in access.get("impliedGrants", ())]
    for name in names:
        policies = [policy(1, PURCHASES, ["alice"], [name])]
        assert unused(policies, {"evtTime": RECENT}) == []


def test_disabled_policies_and_denials_give_nothing() -> None:
    policies = [
        policy(1, PURCHASES, ["alice"], ["read"], isEnabled=False),
        policy(2, PURCHASES, [], [], policyItems=[], denyPolicyItems=[item(["read"], users=["bob"])]),
        policy(3, PURCHASES, [], [], policyType=1, policyItems=[item(["read"], users=["bob"])]),
    ]
    assert unused(policies, {"evtTime": RECENT}) == []
    assert unused_policies(index_of(policies), replayed(policies, {}), CUTOFF).rows == ()


def test_a_policy_that_decided_nothing_recently() -> None:
    policies = [policy(1, PURCHASES, ["alice"], ["read"]), policy(2, {"namespace": "ns1"}, ["alice"], ["read"])]
    namespace = {"resource": "cdap/ns1", "resType": "namespace"}
    facts = replayed(policies, {"evtTime": RECENT}, {"evtTime": OLD, **namespace})
    assert unused_policies(index_of(policies), facts, CUTOFF).rows == ((2, "policy 2", None, OLD),)


@settings(max_examples=60, deadline=None)
@given(
    policy_sets(),
    st.lists(st.tuples(st.sampled_from(["alice", "bob", "carol"]), st.sampled_from(["read", "write"])), max_size=6),
)
def test_a_policy_is_unused_exactly_if_nothing_was_decided_by_it(
    policies: list[dict[str, Any]], asked: list[tuple[str, str]]
) -> None:
    records = [
        {"reqUser": user, "action": access, "resource": "cdap/ns1/a.b", "evtTime": RECENT, "policy": -1}
        for user, access in asked
    ]
    facts = replayed(policies, *records)
    deciding = {use.by for use in facts.uses if use.now and use.allowed}
    rows = unused_policies(index_of(policies), facts, CUTOFF).rows
    giving = {one["id"] for one in policies if one["policyItems"]}
    assert {row[0] for row in rows} == giving - deciding


def test_denials_that_repeat_are_counted_with_what_they_would_be_now() -> None:
    policies = [policy(1, PURCHASES, ["dora"], ["read"])]
    facts = replayed(
        policies,
        {"reqUser": "dora", "result": 0, "evtTime": OLD, "policy": 4},
        {"reqUser": "dora", "result": 0, "evtTime": RECENT, "policy": -1, "event_count": 4},
        {"reqUser": "eve", "result": 0, "evtTime": OLD},
        {"reqUser": "eve", "result": 1, "evtTime": OLD},
        {"reqUser": "fred", "result": 0, "event_count": 2, "policy": 9},
        {"reqUser": "gus", "result": 0, "event_count": 9, "reason": "gus needs WRITE on namespace:ns1"},
    )
    dataset = ("read", "dataset:ns1.purchases")
    assert repeated_denials(facts, "cdap").rows == (
        ("dora", *dataset, 5, OLD, RECENT, None, True),
        ("fred", *dataset, 2, NOON, NOON, 9, False),
    )


def test_who_stopped_and_what_they_still_have() -> None:
    policies = [
        policy(1, PURCHASES, ["alice", "gone"], ["read"]),
        policy(2, {"namespace": "ns1"}, ["gone"], ["read"]),
        policy(3, {"namespace": "ns2"}, [], [], policyItems=[item(["read"], groups=["ops"])]),
    ]
    facts = replayed(
        policies,
        {"evtTime": RECENT},
        {"reqUser": "gone", "evtTime": OLD},
        {"reqUser": "visitor", "evtTime": OLD, "result": 0},
        {"reqUser": "", "evtTime": OLD},
    )
    assert stopped_users(index_of(policies), facts, GROUPS, CUTOFF).rows == (
        ("gone", OLD, 2, ("policy 1", "policy 2")),
        ("bob", None, 1, ("policy 3",)),
        ("visitor", OLD, 0, ()),
    )
