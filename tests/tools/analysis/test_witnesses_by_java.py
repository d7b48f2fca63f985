"""The witness of each exact row is one that Ranger's Java engine, too, allows by one set and not by the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from random import Random
from typing import Any

import pytest

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import PolicySetError
from ranger_cdap.tools.analysis.impact import impact
from ranger_cdap.tools.analysis.logic.witness import Witness
from tests.differential.java_engine import JavaEngine
from tests.tools.analysis.small_sets import Json, changed, engine, scenario

pytestmark = pytest.mark.java

PAIRS = 60


def asked(witness: Witness, of: PolicyEngine) -> dict[str, Any]:
    """The request of a witness, as the harness takes it."""
    request = witness.request_to(of)
    return {
        "resource": dict(request.resource),
        "accessType": request.access_type,
        "user": request.user,
        "groups": sorted(request.groups),
        "roles": sorted(request.roles or ()),
        "resourceOwner": request.owner,
        "accessTime": request.access_time,
        "clientIP": request.client_ip,
        "action": request.action,
        "context": dict(request.context),
    }


def of_one_priority(documents: Json) -> Json:
    """After an allow by tags, Java takes a policy of higher priority for evaluated before it knows that it matches."""
    whole = documents["policies"]
    zones = (zone["policies"] for zone in whole.get("securityZones", {}).values())
    for policy in chain(whole["policies"], whole["tagPolicies"]["policies"], *zones):
        policy["policyPriority"] = 0
    return documents


def answers(java: JavaEngine, documents: Json, witnesses: Sequence[Witness], of: PolicyEngine) -> list[bool]:
    java.load(documents)
    return [answer["allowed"] for answer in java.evaluate([asked(witness, of) for witness in witnesses])]


@pytest.mark.parametrize("kind", ["plain", "macros", "zones", "tags", "zones+tags"])
def test_java_confirms_every_witness(java: JavaEngine, kind: str) -> None:
    features, confirmed = frozenset(kind.split("+")), Counter[str]()
    for number in range(PAIRS):
        random = Random(number)
        before = scenario(random, features)
        after = changed(random, before, features)
        if "tags" in features:
            before, after = map(of_one_priority, (before, after))
        try:
            old, new = (engine(each, "ranger") for each in (before, after))
        except PolicySetError:
            continue  # a policy that Java reads in another way
        found = impact(old, new)
        for what, rows in (("gained", found.gained), ("lost", found.lost)):
            witnesses = [row.witness for row in rows if row.witness is not None]
            by_old, by_new = (answers(java, *each) for each in ((before, witnesses, old), (after, witnesses, new)))
            assert set(zip(by_old, by_new, strict=True)) <= {(what == "lost", what == "gained")}, number
            confirmed[what] += len(witnesses)
    assert min(confirmed["gained"], confirmed["lost"]) > PAIRS // 2, confirmed
