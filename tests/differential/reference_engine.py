"""A second judge that needs no Java: Ranger's decision, written down as plainly as it can be said.

It looks at every policy for every request and shares nothing with `ranger_cdap.engine`; it is itself held against
Ranger's Java engine. Numbers in brackets are sections of `ranger-semantics.md`. It knows one set of
policies with roles; zones, tags, conditions, schedules, audit filters, lists of configured users, and levels of paths
and URLs are left to Java.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.differential.reference_order import has_deny, java_set_order, rank
from tests.differential.reference_person import Person
from tests.differential.reference_resources import DESCENDANT, SELF, SELF_AND_ALL_DESCENDANTS, match

Json = Mapping[str, Any]


def evaluate(policies: Json, roles: Json, request: Json) -> dict[str, Any]:
    """Decide one request of `ranger-cdap eval` by all policies of a download [§6.3]."""
    return Evaluation(policies["serviceDef"], Person(request, roles), request).over(policies["policies"])


class Evaluation:
    """One request on its way along the policies."""

    def __init__(self, service_def: Json, person: Person, request: Json) -> None:
        self.service_def, self.person, self.request = service_def, person, request
        self.any_access = request.get("accessType") in (None, "", "_any")
        self.ignore_descendant_deny = request.get("ignoreDescendantDeny", True)
        self.wide = self.any_access or request.get("matchingScope") == "SELF_OR_DESCENDANTS"
        self.asked, self.groups = self.asked_access_types()
        self.allowed = self.determined = False
        self.policy_id = self.audit_policy_id = -1
        self.priority = 0
        self.table: dict[str, tuple[bool, Json]] = {}

    def asked_access_types(self) -> tuple[list[str], list[list[str]]]:
        """The access types to look at, and the groups of which each must be satisfied by one of its members [§9]."""
        if self.any_access:
            asked = java_set_order(access["name"] for access in self.service_def["accessTypes"])
            together = self.request.get("allAccessTypeGroups") or [asked]
            return asked, together if self.ignore_descendant_deny else [[access] for access in asked]
        asked = self.request.get("allAccessTypes") or [self.request["accessType"]]
        return asked, self.request.get("allAccessTypeGroups") or [asked]

    def over(self, policies: Sequence[Json]) -> dict[str, Any]:
        in_force = [p for p in policies if p.get("isEnabled", True) and not p.get("policyType")]
        for policy in sorted(in_force, key=lambda policy: rank(self.service_def, policy)):
            if self.allowed and self.priority > policy.get("policyPriority", 0):
                self.determined = True
            for resources in [policy["resources"], *(policy.get("additionalResources") or ())]:
                self.look_at(policy, resources)
            if self.allowed and not has_deny(policy):
                self.determined = True
        return {
            "allowed": self.allowed,
            "determined": bool(policies),  # [§6.4] without fall-back only an empty repository leaves it open
            "policyId": self.policy_id,
            "audited": not policies or self.audit_policy_id != -1,
            "auditPolicyId": self.audit_policy_id,
        }

    def look_at(self, policy: Json, resources: Json) -> None:
        match_type = match(self.service_def, resources, self.request, self.person.tokens)
        if match_type not in (SELF, SELF_AND_ALL_DESCENDANTS) and not (self.wide and match_type == DESCENDANT):
            return
        if self.audit_policy_id == -1 and policy.get("isAuditEnabled", True):
            self.audit_policy_id = policy["id"]  # whether or not it concerns this person
        if self.determined:
            return
        for access in self.asked:
            effect = decide(self.service_def, policy, self.person, access)
            if effect is False and match_type == DESCENDANT and self.ignore_descendant_deny:
                effect = None
            if effect is not None:
                self.merge(access, effect, policy)
                if self.any_access and effect == self.ignore_descendant_deny:
                    break  # [§9.1] `_any` takes one access type from a policy
        if outcome := self.composite():
            self.allowed, deciding = outcome
            self.determined = not self.allowed
            self.policy_id, self.priority = deciding["id"], deciding.get("policyPriority", 0)

    def merge(self, access: str, effect: bool, policy: Json) -> None:
        """A higher priority replaces; within one a deny replaces an allow, for `_any` an allow a deny [§6.6]."""
        if access in self.table:
            allowed, by = self.table[access]
            gain = policy.get("policyPriority", 0) - by.get("policyPriority", 0)
            tie = (allowed and not effect) or (self.any_access and not allowed and effect)
            if gain < 0 or (gain == 0 and not tie):
                return
        self.table[access] = (effect, policy)

    def composite(self) -> tuple[bool, Json] | None:
        """An AND of ORs over what the policies have said so far; None while it is open [§9.2]."""
        outcomes = []
        for group in self.groups:
            entries = [self.table.get(access) for access in group]
            allowing = next((entry for entry in entries if entry and entry[0]), None)
            outcomes.append(allowing or (entries[0] if all(entries) else None))
        denying = next((outcome for outcome in outcomes if outcome and not outcome[0]), None)
        return denying or (outcomes[0] if all(outcomes) else None)


def decide(service_def: Json, policy: Json, person: Person, access: str) -> bool | None:
    """What one policy says of one person and one access type: allowed, denied or nothing [§6.6]."""

    def hit(side: str) -> bool:
        return any(applies(service_def, item, person, access) for item in policy.get(side) or ())

    with_denies = (service_def.get("options") or {}).get("enableDenyAndExceptionsInPolicies", "true") == "true"
    if with_denies and hit("denyPolicyItems") and not hit("denyExceptions"):
        return False
    if hit("policyItems") and not (with_denies and hit("allowExceptions")):
        return True
    return False if policy.get("isDenyAllElse") else None


def applies(service_def: Json, item: Json, person: Person, access: str) -> bool:
    if access == "_admin":
        return person.is_named_in(item) and bool(item.get("delegateAdmin"))
    accesses = [(each["type"], each.get("isAllowed", True)) for each in item.get("accesses") or ()]
    return person.is_named_in(item) and access in granted(service_def, accesses)


def granted(service_def: Json, accesses: list[tuple[str, bool]]) -> set[str]:
    """What is allowed and what that implies; definitions of this test list all they imply, one step is enough [§7.4].

    Of an access type that an item names twice only the first mention implies anything.
    """
    defs = [*service_def["accessTypes"], *(service_def.get("markerAccessTypes") or ())]
    first = dict(reversed(accesses))
    implied = (access.get("impliedGrants") or () for access in defs if first.get(access["name"]))
    return {name for name, is_allowed in accesses if is_allowed}.union(*implied)
