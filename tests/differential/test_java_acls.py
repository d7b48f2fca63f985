"""Who can do what, as Ranger's own ACLs have it: the same where those are exact, never the opposite.

Java sums lists up. It is exact where no policy has exceptions, deny-all-else or both sides, and none names everybody;
where these meet it says *conditional* or forgets a denial (ranger-semantics.md §16), while this project
decides for everybody named: `test_who_can.py` holds its table against Java's own decisions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from ranger_cdap.engine import ResourceAccess
from tests.differential.java_engine import JavaEngine
from tests.differential.our_engine import AS_RANGER, load
from tests.differential.phenomena import who_can_scenarios
from tests.differential.who_can_table import access_types, table_of
from tests.ranger_source import MISSING, ranger_file, read_ranger_file

Json = dict[str, Any]
Table = dict[tuple[str, str, str], str]
"""Kind of name, name and access type; how it stands."""

pytestmark = pytest.mark.java

ACLS = "policyengine/test_aclprovider_default.json"
STANDING = {1: "allowed", -1: "denied", 2: "conditional"}
OPPOSITE = {("allowed", "denied"), ("denied", "allowed")}
NOT_PLAIN = ("allowExceptions", "denyExceptions", "isDenyAllElse")
EVERYBODY = {"public": "g", "{USER}": "c", "{OWNER}": "a"}


def plain(scenario: Json) -> Json:
    """The scenario without what Java's ACLs sum up only coarsely."""
    text = json.dumps({**scenario, "roles": {}})
    for macro, name in EVERYBODY.items():
        text = text.replace(f'"{macro}"', f'"{name}"')
    smaller: Json = json.loads(text.replace('"isAllowed": false', '"isAllowed": true'))
    definition = smaller["policies"]["serviceDef"]
    definition["options"], definition["markerAccessTypes"] = {}, []
    for policy in smaller["policies"]["policies"]:
        side = "denyPolicyItems" if policy["id"] % 2 and policy.get("denyPolicyItems") else "policyItems"
        for other in {*NOT_PLAIN, "policyItems", "denyPolicyItems"} - {side}:
            policy.pop(other, None)
        for item in policy.get(side, ()):
            item["accesses"] = [each for each in item["accesses"] if not each["type"].startswith("_")]
        for level in levels_of(policy):
            level["values"] = [value for value in level["values"] if not set(value) & set("{\\")] or ["a"]
    return smaller


def levels_of(policy: Json) -> Iterator[Json]:
    for resources in [policy["resources"], *policy.get("additionalResources", ())]:
        yield from resources.values()


def ours(table: ResourceAccess) -> Table:
    kinds = {"users": table.users, "groups": table.groups, "roles": table.roles}
    return {
        (kind, name, access): entry.verdict
        for kind, rows in kinds.items()
        for name, row in rows.items()
        for access, entry in row.items()
    }


def theirs(acls: Mapping[str, Any], known: list[str]) -> Table:
    return {
        (kind, name, access): STANDING[entry["result"]]
        for kind in ("users", "groups", "roles")
        for name, row in acls[kind].items()
        for access, entry in row.items()
        if access in known
    }


def test_where_javas_acls_are_exact_they_are_ours(java: JavaEngine) -> None:
    differences: list[Any] = []

    @settings(
        max_examples=60,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(who_can_scenarios())
    def look(drawn: Json) -> None:
        scenario = plain(drawn)
        java.load(scenario)
        engine = load(scenario, AS_RANGER)
        known = access_types(engine)
        for request, acls in zip(scenario["requests"], java.who_can(scenario["requests"]), strict=True):
            our, their = ours(table_of(engine, request)), theirs(acls, known)
            if our != their:
                differences.append((set(our.items()) ^ set(their.items()), {**scenario, "requests": [request]}))

    look()
    assert differences[:1] == []


def ranger_acl_cases() -> Iterator[tuple[str, Json]]:
    """Each with a name; without the policies whose resource is in JavaScript."""
    for case in read_ranger_file(ACLS)["testCases"]:
        policies = [policy for policy in case["servicePolicies"]["policies"] if "${{" not in json.dumps(policy)]
        download = {"policyVersion": 1, **case["servicePolicies"], "policies": policies}
        for test in case["tests"]:
            request = {"resource": test["resource"]["elements"], "accessType": "_any"}
            request["matchingScope"] = test.get("resourceMatchingScope") or "SELF"
            yield test["name"], {"policies": download, "requests": [request]}


@pytest.mark.skipif(ranger_file(ACLS) is None, reason=MISSING)
def test_rangers_own_acl_cases_are_never_contradicted(java: JavaEngine) -> None:
    wrong = []
    for name, scenario in ranger_acl_cases():
        (request,) = scenario["requests"]
        engine = load(scenario, AS_RANGER)
        java.load(scenario)
        our, their = ours(table_of(engine, request)), theirs(java.who_can([request])[0], access_types(engine))
        wrong += [(name, key) for key in our.keys() & their.keys() if (our[key], their[key]) in OPPOSITE]
    assert wrong == []
