"""What `needs` prints, in an embedded Ranger Admin with drawn zones: the engine allows what was asked for."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import msgspec
import pytest
import requests
from hypothesis import given, settings
from hypothesis import strategies as st

import servicedef
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId, entity_types
from ranger_cdap.cdap.pattern import parse_pattern
from ranger_cdap.cdap.plan import unnamed
from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.main import main
from ranger_cdap.config import Secret
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.tools.analysis.policy_zones import PolicyZones
from ranger_cdap.tools.policies.needed_policies import needed_policies
from tests.cdap.fixtures import Policies
from tests.cli.live_ranger import PASSWORD, ranger

__all__ = ["ranger"]

Json = dict[str, Any]
KINDS = [kind for kind in entity_types() if kind not in ("instance", "principal")]
NAMES = {"namespace": ["fin1", "hr1"], "program": ["workflow.W", "spark.S"]}
PATTERNS = {"namespace": ["fin*", "hr1", "*", "fin1", "*1"], "program": ["workflow.*", "spark.S", "*"]}
ORDINARY, ORDINARY_PATTERNS = ["one", "two"], ["one", "t*", "*", "two"]


def _levels(table: dict[str, list[str]], ordinary: list[str], most: int) -> st.SearchStrategy[dict[str, list[str]]]:
    """Levels of an entity's path or of its beginning, each with some of the values."""
    return st.sampled_from(KINDS).flatmap(
        lambda kind: st.integers(2, len(entity_types()[kind].path)).flatmap(
            lambda depth: st.fixed_dictionaries(
                {"instance": st.just(["cdap"])}
                | {
                    level: st.lists(st.sampled_from(table.get(level, ordinary)), min_size=1, max_size=most, unique=True)
                    for level in entity_types()[kind].path[1:depth]
                }
            )
        )
    )


LAYOUTS = st.dictionaries(
    st.sampled_from(["finance", "lab"]),
    st.lists(_levels(PATTERNS, ORDINARY_PATTERNS, 2), min_size=1, max_size=2),
    min_size=1,
)


@st.composite
def entities(draw: st.DrawFn, kind: str = "") -> EntityId:
    kind = kind or draw(st.sampled_from(KINDS))
    parts = [draw(st.sampled_from(NAMES.get(level, ORDINARY))) for level in entity_types()[kind].path[1:]]
    return EntityId(kind, tuple(parts))


def engine_in(layout: dict[str, list[dict[str, list[str]]]], policies: list[Json]) -> PolicyEngine:
    numbered = [{**one, "id": number} for number, one in enumerate(policies, 1)]
    zones = {
        name: {
            "zoneName": name,
            "resources": resources,
            "policies": [one for one in numbered if one.get("zoneName") == name],
        }
        for name, resources in layout.items()
    }
    document = {
        "serviceName": "s",
        "policyVersion": 1,
        "serviceDef": servicedef.service_definition(),
        "policies": [one for one in numbered if not one.get("zoneName")],
        "securityZones": zones,
    }
    return PolicyEngine.build(decode_service_policies(msgspec.json.encode(document)))


@given(st.data(), LAYOUTS)
def test_a_right_is_given_in_every_zone_that_decides_on_it(
    data: st.DataObject, layout: dict[str, list[dict[str, list[str]]]]
) -> None:
    entity = data.draw(entities())
    star = data.draw(st.booleans()) and len(entity.parts) > 1
    wanted = parse_pattern(f"{entity.type}:{'.'.join((*entity.parts[:-1], '*'))}") if star else entity
    empty = engine_in(layout, []).view
    found = needed_policies([("alice", "read", wanted)], "cdap", PolicyZones(empty.model, empty.zone_table))
    ask = Policies(engine_in(layout, [one.document() for one in found]))
    assert ask("alice", entity, "READ").allowed
    assert not ask("alice", entity, "WRITE").allowed
    assert not ask("bob", entity, "READ").allowed
    if entity.parent is not None:
        assert not ask("alice", entity.parent, "READ").allowed
    if not star:
        assert len({(one.zone, one.name) for one in found}) == len(found)


ASKED = [
    row
    for row in load_profile("default").rows.values()
    if row.entity in KINDS and row.alternatives and not any(unnamed(row, Context()))
]


@pytest.fixture
def served(ranger: RangerAdmin) -> RangerAdmin:
    assert main(["setup", "--yes", "--quiet"]) == ExitCode.OK
    ranger.create_user("cdap", Secret(PASSWORD))  # the master user, of whom some operations ask
    return ranger


def rest(ranger: RangerAdmin, method: str, path: str, body: Json | None = None) -> requests.Response:
    url = f"{ranger.url}/service/public/v2/api/{path}"
    return requests.request(method, url, json=body, auth=("admin", PASSWORD), timeout=10)


def test_who_holds_what_is_printed_may_do_what_was_asked(
    served: RangerAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    counted = Counter[str]()

    @settings(max_examples=20)
    @given(st.data(), LAYOUTS)
    def holds(data: st.DataObject, layout: dict[str, list[dict[str, list[str]]]]) -> None:
        row = data.draw(st.sampled_from(ASKED))
        entity = str(data.draw(entities(row.entity)))
        made = [
            made.json()["id"]
            for name, one in layout.items()
            if (made := rest(served, "POST", "zones", zone(name, one))).ok
        ]
        ids = []
        try:
            capsys.readouterr()
            assert main(["needs", "alice", row.name, entity, "--policies", "ranger:"]) == ExitCode.OK
            shown = capsys.readouterr()
            assert ("no security zones are known" in shown.err) is False
            for one in json.loads(shown.out)["policies"]:
                counted["in a zone" if one.get("zoneName") else "outside"] += 1
                answer = rest(served, "POST", "policy", {**one, "service": "cdapdev"})
                assert answer.ok, (answer.text, one)
                ids.append(answer.json()["id"])
            assert main(["check", "alice", row.name, entity, "--policies", "ranger:"]) == ExitCode.OK, layout
            assert main(["check", "bob", row.name, entity, "--policies", "ranger:"]) == ExitCode.NO
        finally:
            for policy_id in ids:
                rest(served, "DELETE", f"policy/{policy_id}")
            for zone_id in made:
                assert rest(served, "DELETE", f"zones/{zone_id}").ok

    holds()
    assert min(counted["in a zone"], counted["outside"]) > 1, counted


def zone(name: str, resources: list[dict[str, list[str]]]) -> Json:
    there = {"cdapdev": {"resources": resources}}
    return {"name": name, "services": there, "adminUsers": ["bob"], "auditUsers": ["bob"]}
