"""What the policies that match decide: items, exceptions, priorities, roles, several access types, auditing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.engine import AccessRequest, Decision, EngineOptions
from ranger_cdap.engine.decide import fast_path
from ranger_cdap.engine.model.request import ElementScope, MatchingScope
from tests.engine.fixtures import asks, engine, item, on, policy

H = {"hall": "h"}
HERE = on(hall="h")

WHO = [
    # the item's principals, who asks, is he meant?
    ("alice", "alice", True),
    ("alice", "Alice", False),
    ("alice", "bob", False),
    ("@staff", "bob @staff", True),
    ("@staff", "bob", False),
    ("@staff", "staff", False),  # a user is no group
    ("%lead", "bob %lead", True),
    ("@public", "bob", True),
    ("@public", "-", True),
    ("@PUBLIC", "bob", False),
    ("{USER}", "bob", True),
    ("{USER}", "-", False),
    ("@{USER}", "bob", False),
    ("{OWNER}", "owner", True),
    ("{OWNER}", "bob", False),
]


@pytest.mark.parametrize(("names", "who", "meant"), WHO)
def test_who_an_item_means(names: str, who: str, meant: bool) -> None:
    decided = engine(policy(1, HERE, [item(names, "read")])).evaluate(asks(H, who, owner="owner"))
    assert decided.allowed is meant


WHAT = [
    # granted, asked, is it given?
    ("read", "read", True),
    ("read", "READ", False),
    ("read", "write", False),
    ("write", "read", True),  # implied
    ("own", "write", True),
    ("own", "_any", True),
    ("unheard-of", "unheard-of", True),
    ("unheard-of", "_any", False),  # "any" means any known one
    ("read", "_admin", False),
    ("read", "_super_user", False),
]


@pytest.mark.parametrize(("granted", "asked", "given_"), WHAT)
def test_what_an_item_gives(granted: str, asked: str, given_: bool) -> None:
    assert engine(policy(1, HERE, [item("alice", granted)])).evaluate(asks(H, access=asked)).allowed is given_


def test_the_right_to_grant_is_given_by_delegate_admin_alone() -> None:
    judge = engine(policy(1, HERE, [item("alice", delegateAdmin=True, conditions=[{"type": "script"}])]))
    assert judge.evaluate(asks(H, access="_admin")).allowed
    assert not judge.evaluate(asks(H, access="read")).allowed


def test_an_access_that_is_not_allowed_grants_nothing_and_denies_nothing() -> None:
    switched_off = {"users": ["alice"], "accesses": [{"type": "read", "isAllowed": False}]}
    assert not engine(policy(1, HERE, [switched_off])).evaluate(asks(H)).allowed
    both = engine(policy(1, HERE, [item("alice", "read")], [switched_off]))
    assert both.evaluate(asks(H)).allowed


ALICE, STAFF = item("alice", "read"), item("@staff", "read")

LISTS = [
    # policies, the decision for alice of staff, the deciding policy
    ([policy(1, HERE, [ALICE])], True, 1),
    ([policy(1, HERE)], False, -1),
    ([policy(1, HERE, [ALICE], [STAFF])], False, 1),
    ([policy(1, HERE, [ALICE], [STAFF], denyExceptions=[ALICE])], True, 1),
    ([policy(1, HERE, [STAFF], allowExceptions=[ALICE])], False, -1),  # an exception denies nothing by itself
    ([policy(1, HERE, [STAFF], allowExceptions=[ALICE]), policy(2, HERE, [ALICE])], True, 2),
    ([policy(1, HERE, [], [STAFF], denyExceptions=[ALICE])], False, -1),  # and grants nothing
    ([policy(1, HERE, [ALICE]), policy(2, HERE, [], [STAFF])], False, 2),
    ([policy(1, HERE, [ALICE], policyPriority=1), policy(2, HERE, [], [STAFF])], True, 1),
    ([policy(1, HERE, [ALICE]), policy(2, HERE, [], [STAFF], policyPriority=-1)], True, 1),
    ([policy(1, HERE, [item("bob", "read")], isDenyAllElse=True), policy(2, HERE, [ALICE])], False, 1),
    ([policy(1, HERE, [ALICE], isDenyAllElse=True), policy(2, HERE, [ALICE])], True, 1),
    ([policy(1, HERE, [STAFF], allowExceptions=[ALICE], isDenyAllElse=True), policy(2, HERE, [ALICE])], False, 1),
    ([policy(1, HERE, [ALICE], isEnabled=False)], False, -1),
    ([policy(1, HERE, [ALICE], policyType=1)], False, -1),
    ([policy(1, on(hall="*"), [ALICE]), policy(2, HERE, [ALICE])], True, 1),  # the more general one is named
]


@pytest.mark.parametrize(("policies", "allowed", "policy_id"), LISTS)
def test_the_four_lists(policies: Any, allowed: bool, policy_id: int) -> None:
    decided = engine(*policies).evaluate(asks(H, "alice @staff"))
    assert (decided.allowed, decided.policy_id, decided.determined) == (allowed, policy_id, True)


sides = st.sampled_from(["allow", "deny", "allow_exception", "deny_exception"])
priorities = st.integers(-1, 1)


@given(st.lists(st.tuples(priorities, st.sets(sides), st.booleans()), min_size=1, max_size=5))
def test_any_policies_decide_as_the_rule_in_words_says(drawn: list[tuple[int, set[str], bool]]) -> None:
    """From the highest priority down: a denial that is not excepted, else an allow that is not excepted (§6.7)."""
    policies, expected = [], None
    for id_, (priority, lists, all_else) in enumerate(drawn, 1):
        given_lists = {side: [ALICE] if side in lists else [] for side in ("allow_exception", "deny_exception")}
        policies.append(
            policy(
                id_,
                HERE,
                [ALICE] if "allow" in lists else [],
                [ALICE] if "deny" in lists else [],
                policyPriority=priority,
                isDenyAllElse=all_else,
                allowExceptions=given_lists["allow_exception"],
                denyExceptions=given_lists["deny_exception"],
            )
        )
    for priority in (1, 0, -1):
        says = [_says(lists, all_else) for p, lists, all_else in drawn if p == priority]
        if expected is None and any(s is not None for s in says):
            expected = False not in says
    assert engine(*policies).evaluate(asks(H)).allowed is bool(expected)


def _says(lists: set[str], all_else: bool) -> bool | None:
    if "deny" in lists and "deny_exception" not in lists:
        return False
    if "allow" in lists and "allow_exception" not in lists:
        return True
    return False if all_else else None


def test_members_of_a_role_are_in_the_roles_that_contain_it_also_in_circles() -> None:
    roles = [
        {"name": "lead", "users": [{"name": "alice"}], "roles": [{"name": "circle"}]},
        {"name": "member", "roles": [{"name": "lead"}, {"name": "missing"}]},
        {"name": "circle", "roles": [{"name": "member"}]},
        {"name": "guest", "groups": [{"name": "public"}]},
    ]
    judge = engine(
        policy(1, HERE, [item("%member", "read")]), policy(2, on(hall="g"), [item("%guest", "read")]), roles=roles
    )
    assert judge.evaluate(asks(H, "alice")).allowed
    assert not judge.evaluate(asks(H, "bob")).allowed
    assert not judge.evaluate(asks(H, "alice %guest")).allowed  # given roles are taken as they are
    assert judge.evaluate(asks({"hall": "g"}, "-")).allowed
    assert not judge.evaluate(AccessRequest({"hall": "g"}, "read", "bob", roles=frozenset())).allowed


def test_any_access_is_one_that_is_allowed_here_or_below() -> None:
    judge = engine(
        policy(1, on(hall="h", shelf="s", box="b"), [item("alice", "write")]),
        policy(2, on(hall="h", shelf="s"), [], [item("alice", "read")]),
    )
    assert judge.evaluate(asks(H, access="_any")).allowed
    assert judge.evaluate(asks(H, access="")).allowed  # none asked means any
    assert not judge.evaluate(asks(H, "bob", access="_any")).allowed
    assert not judge.evaluate(asks({"hall": "x"}, access="_any")).allowed


def test_several_access_types_are_one_of_them_and_groups_one_of_each() -> None:
    judge = engine(policy(1, HERE, [item("alice", "read")]))
    one_of = {"all_access_types": ("read", "write")}
    assert judge.evaluate(asks(H, access="write", **one_of)).allowed
    groups = (frozenset({"read"}), frozenset({"write"}))
    assert not judge.evaluate(asks(H, all_access_type_groups=groups, **one_of)).allowed


AUDIT = [
    # policies, settings, who asks; is it audited, and by which policy?
    ([policy(1, HERE, [ALICE])], {}, "alice", True, 1),
    ([policy(1, HERE, [ALICE])], {}, "bob", True, 1),  # a policy audits whoever asks
    ([policy(1, HERE, [ALICE], isAuditEnabled=False), policy(2, HERE)], {}, "alice", True, 2),
    ([policy(1, HERE, [ALICE], isAuditEnabled=False)], {}, "alice", False, -1),
    ([policy(1, on(hall="x"), [ALICE])], {}, "alice", False, -1),
    ([policy(1, HERE, [ALICE])], {"auditMode": "audit-none"}, "alice", False, -1),
    ([policy(1, on(hall="x"), [ALICE])], {"auditMode": "audit-all"}, "alice", True, -1),
    ([policy(1, HERE)], {"serviceConfig": {"ranger.plugin.audit.exclude.users": "x, alice"}}, "alice", False, -1),
    (
        [policy(1, HERE)],
        {"serviceConfig": {"ranger.plugin.audit.filters": "[{'accessResult':'DENIED','isAudited':false}]"}},
        "alice",
        False,
        1,
    ),
    ([policy(1, HERE)], {"serviceConfig": {"ranger.plugin.audit.filters": "garbage"}}, "alice", True, 1),
]


@pytest.mark.parametrize(("policies", "settings", "who", "audited", "by"), AUDIT)
def test_what_is_audited(policies: Any, settings: Any, who: str, audited: bool, by: int) -> None:
    decided = engine(*policies, **settings).evaluate(asks(H, who))
    assert (decided.audited, decided.audit_policy_id) == (audited, by)


def test_a_super_user_is_never_denied() -> None:
    denied = policy(1, HERE, [], [item("@public", "read")], policyPriority=9)
    judge = engine(denied, options=EngineOptions(super_users=frozenset({"root"}), super_groups=frozenset({"wheel"})))
    assert judge.evaluate(asks(H, "root")).reason == "superuser"
    assert judge.evaluate(asks(H, "bob @wheel")).allowed
    assert judge.evaluate(asks(H, "root", access="_super_user")).allowed
    assert not judge.evaluate(asks(H, "bob")).allowed
    configured = engine(denied, serviceConfig={"ranger.plugin.super.users": "root"})
    assert configured.evaluate(asks(H, "root")).allowed


def test_without_any_policy_nothing_is_determined_and_nothing_allowed() -> None:
    assert engine().evaluate(asks(H)) == Decision(False, False, audited=True)


def test_an_explanation_names_every_policy_and_decides_the_same() -> None:
    judge = engine(
        policy(1, HERE, [item("bob", "read")]),
        policy(2, HERE, [ALICE]),
        policy(3, HERE, [ALICE], validitySchedules=[{"endTime": "2001/01/01 00:00:00"}]),
    )
    request = asks(H, access_time=1_700_000_000_000)
    explained = judge.explain(request)
    assert {entry.policy_id: entry.outcome for entry in explained.trace} == {
        1: "says nothing",
        2: "allows",
        3: "not needed",
    }
    assert (explained.allowed, explained.policy_id) == (True, 2)
    assert judge.evaluate(request).trace == ()
    denied = judge.explain(asks(H, "carol", access_time=1_700_000_000_000))
    assert {entry.policy_id: entry.outcome for entry in denied.trace}[3] == "not applicable"


FALLBACK = [
    # the policies, and what is decided: allowed, and determined where another authorizer may decide the rest
    ([policy(1, HERE, [item("alice", "read")])], True, True),
    ([policy(1, HERE, [], [item("alice", "read")])], False, True),
    ([policy(1, HERE, [item("bob", "read")])], False, False),
]


@pytest.mark.parametrize(("policies", "allowed", "determined"), FALLBACK)
def test_with_a_fallback_only_what_a_policy_decides_is_determined(
    policies: list[Any], allowed: bool, determined: bool
) -> None:
    for fallback in (True, False):
        decided = engine(*policies, options=EngineOptions(fallback=fallback)).evaluate(asks(H))
        assert (decided.allowed, decided.determined) == (allowed, determined or not fallback)


def test_an_explanation_names_a_policy_whose_resource_does_not_match() -> None:
    judge = engine(policy(1, on(hall="x"), [item("alice", "read")]), policy(2, HERE, [item("alice", "read")]))
    trace = judge.explain(asks(H, element_scopes={"hall": ElementScope.SELF_OR_PREFIX})).trace
    found = {entry.policy_id: (entry.outcome, entry.reason) for entry in trace}
    assert found[1] == ("not applicable", "its resource does not match")
    assert found[2][0] == "allows"


@pytest.mark.parametrize(("id_", "version"), [(1, 7), (1, None), (None, 7)])
def test_a_decision_names_the_policy_and_its_version(id_: int | None, version: int | None) -> None:
    decided = engine({**policy(1, HERE, [item("alice", "read")]), "id": id_, "version": version}).evaluate(asks(H))
    assert decided.allowed
    assert (decided.policy_id, decided.policy_version) == (id_ or -1, version or -1)


@pytest.mark.parametrize("scope", [MatchingScope.SELF, MatchingScope.SELF_OR_DESCENDANTS])
def test_only_a_policy_behind_the_one_that_allows_makes_its_allow_final(scope: MatchingScope) -> None:
    """One before it that denies nobody and names other users says nothing of later denials."""
    judge = engine(
        policy(1, HERE, [item("carol", "read")], policyPriority=1),
        policy(2, HERE, [item("alice", "read")], [item("bob", "read")]),
        policy(3, HERE, [], [item("alice", "read")]),
    )
    decided = judge.evaluate(asks(H, matching_scope=scope))
    assert (decided.allowed, decided.policy_id) == (False, 3)


def test_a_principal_set_is_computed_once_and_kept_for_a_bounded_number_of_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fast_path, "_MAX_USERS", 3)
    sets = fast_path.PrincipalSets(engine()._state.roles)
    for n in range(10):
        request = asks({}, f"user{n} @staff")
        assert sets.of(request) is sets.of(request)
        assert len(sets.cache) <= 3
    assert sets.of(asks({}, "user9 @boss")) != sets.of(asks({}, "user9 @staff"))
