"""What Ranger Admin's own validator makes of a policy is what the commands before a save take it for."""

from __future__ import annotations

from typing import Any

import pytest

from ranger_cdap.ranger.changes.saved_policy import SavedPolicies, access_types_of, as_saved
from ranger_cdap.ranger.changes.step import Step, StepChange
from ranger_cdap.ranger.changes.transfer import body, portable
from servicedef import service_definition
from tests.differential.java_engine import JavaEngine
from tests.ranger.changes.spellings import MARKERS, policy

pytestmark = pytest.mark.java

Json = dict[str, Any]
SERVICE = "cdapdev"
BATCH, BATCHES = 60, 20


def completed() -> Json:
    """The definition with markers and `_expression`, as Ranger Admin has it, and two access types with odd letters."""
    found = service_definition()
    found["accessTypes"] += [{"itemId": 50, "name": "use"}, {"itemId": 51, "name": "link"}]
    found["markerAccessTypes"] = [{"itemId": 60 + n, "name": name} for n, name in enumerate(MARKERS)]
    return found


def content(one: Json) -> Json:
    """The kept members without labels, which the store rewrites and not the validator."""
    kept = portable(one)
    kept.pop("policyLabels", None)
    return kept


def creating(one: Json) -> Step:
    return Step(StepChange.CREATE, one["name"], "", wanted=portable(one))


def saved_by_java(java: JavaEngine, policies: list[Json]) -> list[Json | None]:
    found = java.saved(completed(), SERVICE, [{**one, "service": SERVICE} for one in policies])
    return [None if refused else one for refused, one in found]


def test_a_policy_is_what_ranger_s_validator_makes_of_it_and_stays_so(java: JavaEngine) -> None:
    accepted, rewritten = 0, 0
    for first in range(0, BATCH * BATCHES, BATCH):
        drawn = [policy(seed) for seed in range(first, first + BATCH)]
        settled = SavedPolicies().of(drawn, completed())
        again = saved_by_java(java, [body(creating(one), SERVICE) for one in settled])
        for sent, final, once, twice in zip(drawn, settled, saved_by_java(java, drawn), again, strict=True):
            if once is None:
                continue
            accepted += 1
            rewritten += content(sent) != content(once)
            assert content(as_saved(sent, access_types_of(completed()))[0]) == content(once)
            assert twice is not None
            assert content(final) == content(twice)
    assert accepted > BATCH * BATCHES / 2
    assert rewritten > accepted / 2


ODD = (
    ("u\u017fe", "use"),
    ("LIN\u212a", "link"),
    ("READ", "read"),
    ("_rEAD", "_READ"),
    ("reaD ", None),
    ("fly", None),
    ("\u0131", None),
)


def test_an_access_type_is_known_in_every_case_that_java_takes_for_it(java: JavaEngine) -> None:
    resources = {"instance": {"values": ["cdap"]}}
    for written, expected in ODD:
        item = {"users": ["eve"], "accesses": [{"type": written}]}
        one: Json = {"name": "p", "resources": resources, "policyItems": [item]}
        (by_java,) = saved_by_java(java, [one])
        ours, _ = as_saved(one, access_types_of(completed()))
        assert (by_java and by_java["policyItems"][0]["accesses"][0]["type"]) == expected, written
        assert ours["policyItems"][0]["accesses"][0]["type"] == (expected or written)
