"""The Java predecessor: what it asked Ranger for CDAP's checks, and what it answered.

Its rule is stated here from CDAP's `AuthorizerWrapper` (6.11.1) and the binding's `RangerAuthorizer`, and put to the
engine, for all recorded calls of a CDAP 6.11.1.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec
from hypothesis import strategies as st

from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.entity import entity_type
from ranger_cdap.engine import ANY_ACCESS, AccessRequest, MatchingScope, PolicyEngine
from tests.authz.fixtures import policy
from tests.docs.markdown_pages import ROOT


@cache
def recorded() -> tuple[CdapCheck, ...]:
    found: dict[CdapCheck, None] = {}
    for line in (ROOT / "tests" / "data" / "cdap-enforce-calls.jsonl").read_bytes().splitlines():
        for call in msgspec.json.decode(line)["calls"]:
            if "entity" in call:
                kind, parts = call["entity"]
                check = CdapCheck(kind, tuple(parts), tuple(call["permissions"]), call.get("child"), call.get("hint"))
                found[check] = None
    return tuple(found)


KINDS = {
    "NAMESPACE": "namespace", "ARTIFACT": "artifact", "APPLICATION": "application", "PROGRAM": "program",
    "DATASET": "dataset", "DATASET_MODULE": "dataset_module", "DATASET_TYPE": "dataset_type",
    "KERBEROSPRINCIPAL": "principal",
}  # fmt: skip


def old_resource(check: CdapCheck) -> tuple[str, tuple[str, ...]] | None:
    """The type and the values of the levels that the old jar put to Ranger; None if it asked nothing."""
    kind = KINDS.get(check.entity_type)
    if kind is None:
        return None
    parts = check.id_parts
    if kind == "program":
        parts = (parts[0], parts[1], f"{parts[3].lower()}.{parts[4]}")
    return kind, ("cdap", *parts)[: len(entity_type(kind).path)]


def old_access(check: CdapCheck, permission: str) -> str:
    """The access type that the old jar asked for."""
    on_data = check.entity_type == "DATASET"
    if check.child_type is None and permission == "STANDARD.GET" and on_data:
        return "read"
    if permission == ("STANDARD.GET" if check.child_type is None else "STANDARD.LIST"):
        return ANY_ACCESS
    if check.child_type is None and permission == "STANDARD.UPDATE" and on_data:
        return "write"
    if check.child_type is None and permission == "APPLICATION.EXECUTE":
        return "execute"
    return "admin"


def old_answer(policies: PolicyEngine, user: str, check: CdapCheck) -> bool:
    """What the old jar answered, asked of the engine alone."""
    asked = old_resource(check)
    if asked is None:
        return False
    kind, values = asked
    resource = dict(zip(entity_type(kind).path, values, strict=True))

    def allowed(access: str) -> bool:
        scope = MatchingScope.SELF_OR_DESCENDANTS if access == ANY_ACCESS else MatchingScope.SELF
        found = policies.evaluate(
            AccessRequest(resource=resource, access_type=access, user=user, matching_scope=scope, access_time=1)
        )
        return found.allowed and found.determined

    # The old jar allowed a check of no permission to everyone; here it takes a privilege.
    return (
        all(allowed(old_access(check, one)) for one in check.permissions) if check.permissions else allowed(ANY_ACCESS)
    )


RESOURCES: list[dict[str, str]] = [
    {"namespace": "ns1"}, {"namespace": "*"}, {"namespace": "ns1", "application": "*"},
    {"namespace": "ns1", "application": "?*", "program": "*"}, {"namespace": "ns1", "dataset": "kv"},
    {"namespace": "ns1", "dataset": "?*"}, {"namespace": "ns?", "artifact": "*"}, {"principal": "svc*"},
    {"namespace": "ns1", "secure_key": "*"}, {"namespace": "ns1", "dataset_type": "?*"}, {},
]  # fmt: skip
POLICIES = st.lists(
    st.tuples(
        st.sampled_from(RESOURCES),
        st.sets(st.sampled_from(["read", "write", "execute", "admin"]), min_size=1),
        st.booleans(),
    ),
    max_size=4,
    unique_by=lambda one: str(one[0]),
)


def made(rows: list[tuple[dict[str, str], set[str], bool]]) -> list[dict[str, Any]]:
    """Policies of alice; some deny her WRITE."""
    deny = {"denyPolicyItems": [{"users": ["alice"], "accesses": [{"type": "write"}]}]}
    return [
        policy(n, where, ["alice"], sorted(what), **(deny if no else {})) for n, (where, what, no) in enumerate(rows)
    ]
