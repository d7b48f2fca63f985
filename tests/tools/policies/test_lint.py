"""What `policies lint` finds in policies that the engine can use: a table of policies and findings."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import servicedef
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import grant_guid
from ranger_cdap.cdap.inventory import Inventory
from ranger_cdap.engine import AccessRequest, ConditionContext, ConditionOutcome, PolicyEngine
from ranger_cdap.engine.compiled.conditions import PACKAGE, ConditionOptions, compile_condition, matches_no_address
from ranger_cdap.engine.compiled.service_def import compile_service_def
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.download import UserStore
from ranger_cdap.ranger_model.policy import Policy
from ranger_cdap.ranger_model.service_def import PolicyConditionDef, ServiceDef
from ranger_cdap.tools.policies.lint import KnownPrincipals, LintCode, LintContext, lint

MODEL = compile_service_def(msgspec.convert(servicedef.service_definition(), ServiceDef))
NOW = 1_800_000_000_000
KNOWN = LintContext(KnownPrincipals(users={"alice", "bob"}, groups={"staff"}), NOW, lambda _: False, True, None, True)
PAST = {"startTime": "2020/01/01 00:00:00", "endTime": "2020/12/31 00:00:00", "timeZone": "UTC"}
FUTURE = {**PAST, "endTime": "2099/12/31 00:00:00"}


def item(users: str = "alice", *accesses: str, **more: Any) -> dict[str, Any]:
    given = [name for name in users.split() if name[0] != "@"]
    groups = [name[1:] for name in users.split() if name[0] == "@"]
    wanted = accesses or ("read",)
    return {"users": given, "groups": groups, "accesses": [{"type": a} for a in wanted], **more}


def policy(allow: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
    resources = more.pop("resources", {"instance": ["cdap"], "namespace": ["ns1"]})
    return {
        "id": 7,
        "name": "p",
        "resources": {n: v if isinstance(v, dict) else {"values": v} for n, v in resources.items()},
        "policyItems": [item()] if allow is None else allow,
        **more,
    }


ALL = ("read", "write", "admin", "execute")
NS1 = {"instance": ["cdap"], "namespace": ["ns1"]}
SHOP = {**NS1, "application": ["shop"], "program": ["*"]}
COMMON_OPTIONS = {"instance": ["*"], "namespace": ["*"]}
SCRIPT = [{"type": "_expression", "values": ["USER.dept == 'eng'"]}]
IP = [{"type": "ip", "values": ["10.0.0.1"]}]

ODD_LETTERS = "\u017f\u0131\u03c2\u00b5\u03d0"
"""Long s, dotless i, final sigma, micro sign, curled beta."""

HERE = Inventory("cdap", 0, (EntityId("namespace", ("ns1",)), EntityId("dataset", ("ns1", "kv"))))
TWO = {"instance": ["cdap"], "namespace": ["ns1", "ns2"]}
GONE = {**NS1, "dataset": ["gone"]}

CASES = [
    # the policy, and what is found: code and place
    (policy(), []),
    (
        policy(resources={"instance": ["cdap"], "namespace": {"values": ["*"], "isExcludes": True}}),
        [("never-matches", "resources.namespace")],
    ),
    (
        policy(additionalResources=[{"instance": {"values": [], "isExcludes": True}}]),
        [("never-matches", "additionalResources[0].instance")],
    ),
    (policy(resources={"instance": ["cdap"], "namespace": {"values": ["a"], "isExcludes": True}}), []),
    (policy(validitySchedules=[PAST]), [("expired", "validitySchedules")]),
    (policy(validitySchedules=[PAST, FUTURE]), []),
    (policy([item("alice"), item("alice")]), [("shadowed", "policyItems[1]")]),
    (policy([item("alice", "read"), item("alice bob", "read", "write")]), [("shadowed", "policyItems[0]")]),
    (policy([item("alice"), item("bob")]), []),
    (policy([item("alice", conditions=IP), item("alice")]), [("shadowed", "policyItems[0]")]),
    (policy([item("@public"), item("alice")]), [("shadowed", "policyItems[1]")]),
    (policy([item("{USER}"), item("alice")]), [("shadowed", "policyItems[1]")]),
    (policy([item("{USER}"), item("@staff")]), []),
    (policy([item("alice"), item("alice", delegateAdmin=True)]), [("shadowed", "policyItems[0]")]),
    (policy([item("alice", delegateAdmin=True), item("alice")]), [("shadowed", "policyItems[1]")]),
    (
        policy([item("alice")], denyPolicyItems=[item("alice bob", "read", "write")]),
        [("denied-anyway", "policyItems[0]")],
    ),
    (policy([item("alice", "read", "write")], denyPolicyItems=[item("alice")]), []),
    (policy([item("alice")], denyPolicyItems=[item("alice", conditions=IP)]), []),
    (policy([item("alice")], denyPolicyItems=[item("@public")], denyExceptions=[item("alice")]), []),
    (policy([item("eve")]), [("unknown-user", "policyItems[0].users")]),
    (policy([item("@ghosts")]), [("unknown-group", "policyItems[0].groups")]),
    (policy([item("{USER} {OWNER} @public")]), []),
    (policy(denyPolicyItems=[item("eve")]), [("unknown-user", "denyPolicyItems[0].users")]),
    (
        policy(resources={"instance": ["cdap"], "namespace": ["ns_{USER}", "{TEAM}"]}),
        [("unknown-macro", "resources.namespace")],
    ),
    (policy(resources={"instance": ["cdap"], "namespace": ["${{USER.team}}"]}), []),  # which the engine reports
    (
        policy([item("alice", *ALL)], resources=COMMON_OPTIONS),
        [("parent-too", "resources.namespace"), ("one-account-everything", "policyItems[0]")],
    ),
    (policy([item("alice bob", *ALL)], resources=COMMON_OPTIONS), [("parent-too", "resources.namespace")]),
    (policy([item("alice", "read")], resources=COMMON_OPTIONS), [("parent-too", "resources.namespace")]),
    (policy(resources={**NS1, "dataset": ["*"]}), [("parent-too", "resources.dataset")]),
    (policy(resources={**NS1, "dataset": ["kv", "*"]}), [("parent-too", "resources.dataset")]),
    (policy(resources={**NS1, "application": ["*"], "program": ["*"]}), [("parent-too", "resources.application")]),
    (policy(resources={**NS1, "application": ["?*"], "program": ["*"]}), [("parent-too", "resources.program")]),
    (policy(resources={**NS1, "dataset": ["?*"]}), []),
    (policy(resources={**NS1, "application": ["*"], "program": ["workflow.W"]}), []),
    (
        policy(resources=NS1, additionalResources=[{"instance": {"values": ["cdap"]}, "namespace": {"values": ["*"]}}]),
        [("parent-too", "additionalResources[0].namespace")],
    ),
    (
        policy(
            resources=SHOP,
            policyLabels=["cdap-creator"],
            guid=grant_guid("cdap", EntityId("application", ("ns1", "shop")), 1),
        ),
        [],
    ),
    (policy(resources=SHOP, policyLabels=["cdap-creator"]), [("parent-too", "resources.program")]),
    (policy(resources={**NS1, "dataset": ["kv"]}), []),
    (
        policy(resources={**NS1, "application": ["shop"], "program": ["*"]}),
        [("parent-too", "resources.program")],
    ),
    (policy(resources={**NS1, "application": ["shop"], "program": ["workflow.W"]}), []),
    (policy(resources={**NS1, "application": ["shop"]}), []),
    (policy(resources={**NS1, "dataset": ["kv", "kv2"]}), []),
    (policy(resources={**NS1, "dataset": ["kv?"]}), []),
    (policy(resources={**NS1, "dataset": {"values": ["kv"], "isExcludes": True}}), []),
    (policy(resources={**NS1, "dataset": ["kv"]}, policyLabels=["cdap-creator"]), []),
    (policy([item("alice", *ALL)]), []),
    (policy([item("eve")], isEnabled=False), []),
    (policy(resources={**NS1, "dataset": ["a b", "k*", "a,b", "a b"]}), [("no-such-name", "resources.dataset")] * 2),
    (policy(resources={**NS1, "application": ["app"], "program": ["W"]}), [("no-such-name", "resources.program")]),
    (policy(resources={**NS1, "application": ["a"], "program": ["service.W", "*W", "{USER}W"]}), []),
    (
        policy(additionalResources=[{"instance": {"values": ["any name"]}, "namespace": {"values": ["n-1"]}}]),
        [("no-such-name", "additionalResources[0].namespace")],
    ),
    (
        policy(
            [item("alice"), item("bob", conditions=SCRIPT)], denyPolicyItems=[item("bob", conditions=[*IP, *SCRIPT])]
        ),
        [("no-attributes", "policyItems[1].conditions[0]"), ("no-attributes", "denyPolicyItems[0].conditions[1]")],
    ),
    (policy(conditions=SCRIPT), [("no-attributes", "conditions[0]")]),
]


@pytest.mark.parametrize(("written", "found"), CASES)
def test_what_is_found(written: dict[str, Any], found: list[tuple[str, str]]) -> None:
    context = replace(KNOWN, lacks_attributes=lambda condition: "USER" in condition.values[0])
    findings = lint([msgspec.convert(written, Policy)], MODEL, context)
    assert [(finding.code.value, finding.place) for finding in findings] == found


BELOW = {**NS1, "dataset": ["kv", "kv2"]}
APP = {**NS1, "application": ["shop", "?*"]}
ENDS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, bool]] = {
    # a policy, another one, and whether the first ends above all that those it names have
    "nothing else": (policy(), None, True),
    "a policy below for the same user": (policy(), policy(resources=BELOW), False),
    "a policy below for somebody else": (policy(), policy([item("bob")], resources=BELOW), True),
    "a policy below for everybody": (policy(), policy([item("@public")], resources=BELOW), False),
    "a policy below for owners": (policy(), policy([item("{OWNER}")], resources=BELOW), False),
    "one of several named": (policy([item("alice bob")]), policy(resources=BELOW), False),
    "a group": (policy([item("@staff")]), policy(resources=BELOW), True),
    "a denial below": (policy(), policy([], denyPolicyItems=[item("alice")], resources=BELOW), True),
    "a policy below another namespace": (policy(), policy(resources={**BELOW, "namespace": ["ns2"]}), True),
    "a policy below by a pattern": (policy(), policy(resources={**BELOW, "namespace": ["n*"]}), False),
    "a pattern, and one below it": (policy(resources={**NS1, "namespace": ["n*"]}), policy(resources=BELOW), False),
    "two patterns": (
        policy(resources={**NS1, "namespace": ["n*"]}),
        policy(resources={**BELOW, "namespace": ["*1"]}),
        False,
    ),
    "a policy below that is disabled": (policy(), policy(resources=BELOW, isEnabled=False), True),
    "a second resource below": (policy(additionalResources=[policy(resources=BELOW)["resources"]]), None, False),
    "the instance": (policy(resources={"instance": ["cdap"]}), None, False),
    "a dataset": (policy(resources=BELOW), None, False),
    "an application": (policy(resources=APP), None, True),
    "no allowed item": (policy([], denyPolicyItems=[item("alice")]), None, False),
}


@pytest.mark.parametrize(("written", "other", "ends"), ENDS.values(), ids=ENDS)
def test_a_policy_ends_above_if_those_it_names_have_nothing_below(
    written: dict[str, Any], other: dict[str, Any] | None, ends: bool
) -> None:
    policies = [msgspec.convert(one, Policy) for one in (written, {**other, "id": 8} if other else None) if one]
    found = [one for one in lint(policies, MODEL, replace(KNOWN, inherits=False)) if one.code is LintCode.ENDS_ABOVE]
    assert [one.place for one in found if one.policy_id == 7] == ["resources"] * ends
    assert all(one.code.is_note for one in found)
    assert not any(one.code is LintCode.ENDS_ABOVE for one in lint(policies, MODEL, KNOWN))


LEVELS = ("instance", "namespace", "application", "program")
# values of a level that match `kv`, some of them a missing level, too
Values = st.lists(st.sampled_from(["kv", "k*", "?*", "*", "**", "other", ""]), max_size=3).filter(
    lambda values: not any(values) or {*values} - {"other", ""}
)


@given(st.lists(Values, min_size=1, max_size=3))
@settings(max_examples=200, deadline=None)
def test_parent_too_is_found_where_the_engine_decides_above(values: list[list[str]]) -> None:
    resources = {"instance": ["cdap"], **dict(zip(LEVELS[1:], values, strict=False))}
    written = policy([item("alice", "read")], resources=resources)
    document = {"serviceName": "s", "policyVersion": 1, "serviceDef": servicedef.service_definition()}
    engine = PolicyEngine.build(decode_service_policies(msgspec.json.encode({**document, "policies": [written]})))
    asked = {"instance": "cdap", **dict.fromkeys(LEVELS[1:], "kv")}
    above = [
        f"resources.{LEVELS[n]}"
        for n in range(1, len(resources))
        if engine.evaluate(AccessRequest({k: asked[k] for k in LEVELS[:n]}, "read", "alice")).allowed
    ]
    found = lint([msgspec.convert(written, Policy)], MODEL, KNOWN)
    assert [finding.place for finding in found if finding.code is LintCode.PARENT_TOO] == above[:1]


NAMED = {
    "a namespace that is there": (NS1, []),
    "one of two": (TWO, ["resources"]),
    "a dataset": (GONE, ["resources"]),
    "a dataset that is there": ({**NS1, "dataset": ["kv"]}, []),
    "a type that the inventory does not have": ({**NS1, "stream": ["gone"]}, []),
    "such a type in a namespace that is gone": ({**NS1, "namespace": ["ns2"], "stream": ["s"]}, ["resources"]),
    "a wildcard": ({**NS1, "dataset": ["gone*"]}, []),
    "all in a namespace that is gone": ({**NS1, "namespace": ["ns2"], "dataset": ["*"]}, []),
    "all values but some": ({**NS1, "dataset": {"values": ["gone"], "isExcludes": True}}, []),
    "another instance": ({**GONE, "instance": ["other"]}, []),
    "CDAP's own namespace": ({**NS1, "namespace": ["system"]}, []),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_right_on_what_the_inventory_would_have_is_a_finding(name: str) -> None:
    resources, places = NAMED[name]
    context = replace(KNOWN, inventory=HERE)
    assert missing_in(policy(resources=resources), context) == places


def test_a_denial_or_a_disabled_policy_gives_no_right_on_what_does_not_exist() -> None:
    context = replace(KNOWN, inventory=HERE)
    assert missing_in(policy([], resources=GONE, denyPolicyItems=[item()]), context) == []
    assert missing_in(policy(resources=GONE, isEnabled=False), context) == []
    written = policy(resources=NS1, additionalResources=[{n: {"values": v} for n, v in GONE.items()}] * 2)
    assert missing_in(written, context) == ["additionalResources[0]"]


def missing_in(written: dict[str, Any], context: LintContext) -> list[str]:
    found = lint([msgspec.convert(written, Policy)], MODEL, context)
    return [one.place for one in found if one.code is LintCode.NO_SUCH_ENTITY]


def test_without_a_user_store_nobody_is_unknown() -> None:
    written = msgspec.convert(policy([item("eve @ghosts")]), Policy)
    assert list(lint([written], MODEL, replace(KNOWN, known=KnownPrincipals()))) == []


def test_whom_a_user_store_knows() -> None:
    store = UserStore(
        user_attr_mapping={"alice": {}}, user_group_mapping={"bob": ["staff"]}, group_attr_mapping={"ops": {}}
    )
    assert KnownPrincipals.of(store) == KnownPrincipals({"alice", "bob"}, {"staff", "ops"})


def test_every_code_has_a_case_and_a_line_in_the_docs() -> None:
    # CDAP's levels tell cases apart; tables of their own
    elsewhere = {"odd-letter", "ends-above", "no-such-entity", "never-in-zone"}
    assert {code for _, found in CASES for code, _ in found} | elsewhere == {one.value for one in LintCode}
    page = (Path(__file__).parents[3] / "docs" / "reference" / "policy-problems.md").read_text()
    section = page.split("## Additional findings of `policies lint`")[1].split("##")[0]
    assert set(re.findall(r"`([a-z-]+)`", section.replace("`policies lint`", ""))) == {code.value for code in LintCode}


@pytest.mark.parametrize("letter", [*ODD_LETTERS, *"s\u00e9\u03c3\u212a\u0130\u00df\u01c5\U0001f600\U00010400"])
@pytest.mark.parametrize("ignore_case", ["true", "false"])
def test_a_letter_that_ranger_folds_in_two_ways_is_found_where_case_does_not_count(
    letter: str, ignore_case: str
) -> None:
    level = {"name": "r", "matcherOptions": {"ignoreCase": ignore_case}}
    model = compile_service_def(msgspec.convert({"name": "t", "resources": [level]}, ServiceDef))
    written = msgspec.convert(policy([], resources={"r": [f"a{letter}", letter]}), Policy)
    found = [(one.code, one.place) for one in lint([written], model, KNOWN)]
    assert found == [("odd-letter", "resources.r")] * (ignore_case == "true" and letter in ODD_LETTERS)


HIVE = {
    "name": "hive",
    "resources": [{"name": "database"}, {"name": "dataset", "parent": "database", "level": 2}],
    "accessTypes": [{"name": "select"}],
    "policyConditions": [{"name": "ip", "evaluator": PACKAGE + "RangerIpMatcher"}],
}


def test_another_service_gets_no_advice_on_cdap() -> None:
    model = compile_service_def(msgspec.convert(HIVE, ServiceDef))
    resources = {"database": ["d"], "dataset": ["*", "no name of CDAP's"]}
    written = [policy(resources=resources), policy(resources={"database": ["d"]}, id=8)]
    context = replace(KNOWN, inherits=False)
    codes = {
        is_cdap: {
            one.code
            for one in lint([msgspec.convert(one, Policy) for one in written], model, replace(context, is_cdap=is_cdap))
        }
        for is_cdap in (True, False)
    }
    assert codes == {True: {LintCode.NO_SUCH_NAME, LintCode.PARENT_TOO}, False: set()}


parts = st.sampled_from(["10", "0", "255", "256", "*", "fe80", "ABCD", "::", "1-9", "8"])
values = st.lists(parts, min_size=1, max_size=5).flatmap(
    lambda several: st.sampled_from([".", ":", "/", ".*"]).map(lambda by: by.join(several))
)
addresses = st.ip_addresses().map(str) | st.sampled_from(["10.0.0.8", "10.10.10.10", "fe80::8", "abcd::10"])


@settings(max_examples=500, deadline=None)
@given(values, st.lists(addresses, min_size=20, max_size=20), st.booleans())
def test_an_address_value_is_reported_only_if_no_address_matches_it(
    value: str, several: list[str], lenient: bool
) -> None:
    definition = PolicyConditionDef("ip", PACKAGE + "RangerIpMatcher")
    condition = compile_condition(definition, [value], ConditionOptions(lenient, {}))
    matched = [a for a in several if condition and condition(ConditionContext(client_ip=a)) is ConditionOutcome.HOLDS]
    written = policy(conditions=[{"type": "ip", "values": [value]}])
    model = compile_service_def(msgspec.convert(HIVE, ServiceDef))
    found = [one.place for one in lint([msgspec.convert(written, Policy)], model, replace(KNOWN, is_cdap=False))]
    assert not (found and matched), matched
    is_odd = "/" in value or "-" in value
    assert found == ["conditions[0]"] or not is_odd


@pytest.mark.parametrize(("value", "reported"), [("10.0.0.0/8", True), ("10.0.0.*", False)])
def test_an_address_range_that_ranger_compares_as_text_is_reported(value: str, reported: bool) -> None:
    assert matches_no_address(value) is reported
