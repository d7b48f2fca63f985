"""The law of access reviews: exactly those whom the `Authorizer` allows are shown as allowed by `who` and `matrix`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decision_context import DecisionContext
from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.cdap.answer import is_allowed
from ranger_cdap.cdap.entity import EntityId, entity_type
from ranger_cdap.cdap.pattern import parse_pattern
from ranger_cdap.cdap.profile import ACTIONS
from ranger_cdap.cli.main import main
from tests.cli.fixtures import Json, download, item, policy

USERS = ("ann", "bob", "cid", "dee", "ns1")
GROUPS = ("g1", "g2", "g3")
ROLES = ("r1", "r2")
ENTITIES = (
    EntityId("namespace", ("ns1",)),
    EntityId("dataset", ("ns1", "kv")),
    EntityId("dataset", ("ns1", "log")),
    EntityId("application", ("ns1", "shop")),
)
ENDED = [{"endTime": "2020/01/01 00:00:00", "timeZone": "UTC"}]
BEGUN = [{"startTime": "2020/01/01 00:00:00", "timeZone": "UTC"}]
TAGS = ("PII", "COLD")


def several(names: tuple[str, ...], most: int = 2) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), max_size=most, unique=True)


def items(prefix: str = "") -> st.SearchStrategy[list[Json]]:
    who = st.fixed_dictionaries(
        {"users": several((*USERS, "{USER}"), 1), "groups": several((*GROUPS, "public"), 1), "roles": several(ROLES, 1)}
    )
    accesses = st.lists(st.sampled_from(("read", "write", "admin", "execute")), min_size=1, max_size=2)
    one = st.builds(lambda who, kinds: item(*(prefix + kind for kind in kinds), **who), who, accesses)
    return st.lists(one, max_size=2)


def policies(levels: st.SearchStrategy[dict[str, Any]], prefix: str = "") -> st.SearchStrategy[Json]:
    more = {
        "policyItems": items(prefix),
        "denyPolicyItems": st.one_of(st.just([]), items(prefix)),
        "allowExceptions": st.one_of(st.just([]), st.just([]), items(prefix)),
        "denyExceptions": st.one_of(st.just([]), st.just([]), items(prefix)),
        "validitySchedules": st.sampled_from([[], [], ENDED, BEGUN]),
        "policyPriority": st.sampled_from([0, 0, 1]),
        "isDenyAllElse": st.sampled_from([False] * 9 + [True]),
    }
    return st.builds(lambda resources, more: {"resources": resources, **more}, levels, st.fixed_dictionaries(more))


def values(*names: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from(names).map(lambda name: {"values": [name]})


RESOURCES = st.one_of(
    st.fixed_dictionaries({"instance": values("cdap")}),
    st.fixed_dictionaries({"instance": values("cdap"), "namespace": values("ns1", "n*", "{USER}", "ns2")}),
    st.fixed_dictionaries(
        {"instance": values("cdap"), "namespace": values("ns1", "*"), "dataset": values("kv", "k*", "*", "old")}
    ),
)
WORLDS = st.fixed_dictionaries(
    {
        "policies": st.lists(policies(RESOURCES), max_size=5),
        "tagPolicies": st.lists(policies(st.fixed_dictionaries({"tag": values(*TAGS, "*")}), "cdap:"), max_size=2),
        "roles": st.fixed_dictionaries(
            {role: st.tuples(several(USERS), several(GROUPS), st.booleans()) for role in ROLES}
        ),
        "groups": st.dictionaries(st.sampled_from(USERS), several(GROUPS), max_size=4),
        "tags": st.dictionaries(st.integers(0, len(ENTITIES) - 1), several(TAGS), max_size=3),
        "super": st.sampled_from(["", "", "", "dee"]),
    }
)


def files(folder: Path, world: Mapping[str, Any]) -> list[str]:
    """Write the downloads of a world, and return the options that name them."""
    numbered = [{**policy(n, {}), **one} for n, one in enumerate([*world["policies"], *world["tagPolicies"]], 1)]
    tag_policies = numbered[len(world["policies"]) :]
    definition = {
        "name": "tag",
        "resources": [{"name": "tag"}],
        "accessTypes": [{"name": f"cdap:{access}"} for access in ("read", "write", "admin", "execute")],
    }
    linked = {"serviceName": "tagdev", "policies": tag_policies, "serviceDef": definition}
    content = {
        "policies": download(
            numbered[: len(world["policies"])],
            tagPolicies=linked,
            serviceConfig={"ranger.plugin.super.users": world["super"]},
        ),
        "roles": {
            "rangerRoles": [
                {
                    "name": role,
                    "users": [{"name": user} for user in users],
                    "groups": [{"name": group} for group in groups],
                    "roles": [{"name": "r1"}] if nested and role == "r2" else [],
                }
                for role, (users, groups, nested) in world["roles"].items()
            ]
        },
        "userstore": {"userGroupMapping": world["groups"], "userAttrMapping": {user: {} for user in USERS}},
        "tags": {
            "serviceName": "cdapdev",
            "tagVersion": 1,
            "tags": {str(n): {"id": n, "type": name} for n, name in enumerate(TAGS)},
            "serviceResources": [
                {"id": n, "resourceElements": {k: {"values": [v]} for k, v in resource(ENTITIES[n]).items()}}
                for n in world["tags"]
            ],
            "resourceToTagIds": {str(n): [TAGS.index(tag) for tag in tags] for n, tags in world["tags"].items()},
        },
    }
    for name, document in content.items():
        (folder / f"{name}.json").write_text(json.dumps(document), encoding="utf-8")
    return ["--policies", ",".join(str(folder / f"{name}.json") for name in content)]


def resource(entity: EntityId) -> dict[str, str]:
    return dict(zip(entity_type(entity.type).path, ("cdap", *entity.parts), strict=True))


def decided(folder: Path) -> dict[tuple[EntityId, str, str], bool]:
    """What the authorizer's own context decides for each person, with the groups Ranger knows."""
    paths = {name: folder / f"{name}.json" for name in ("roles", "tags", "userstore")}
    with Authorizer.from_policies(folder / "policies.json", **paths) as authorizer:  # type: ignore[arg-type]
        snapshot = authorizer.snapshot
        assert snapshot.engine is not None
        resolver = GroupResolver({}, snapshot.groups_of)
        context = DecisionContext(snapshot.engine, resolver, "cdap", time.time_ns() // 1_000_000)
        return {
            (entity, user, action): is_allowed(context.ask(user, entity, action))
            for entity in ENTITIES
            for user in USERS
            for action in ACTIONS
        }


def told(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def shown_by_who(options: list[str], capsys: pytest.CaptureFixture[str]) -> dict[tuple[EntityId, str, str], str]:
    found = {}
    for entity in ENTITIES:
        rows = {
            (row["kind"], row["name"]): row["accesses"]
            for row in told(["access", "--entity", str(entity), *options], capsys)["holders"]
        }
        for user in USERS:
            accesses = rows.get(("user", user), rows[("everybody", "")])
            for action in ACTIONS:
                found[entity, user, action] = accesses.get(action.lower(), {"verdict": "none"})["verdict"]
    return found


def shown_by_matrix(options: list[str], capsys: pytest.CaptureFixture[str]) -> dict[tuple[EntityId, str, str], str]:
    document = told(["access", "--format", "matrix", "--entity", "namespace:ns1", *options], capsys)
    found = {}
    named = {(one["kind"], one["name"]) for one in document["columns"]}
    for row in document["rows"]:
        entity = parse_pattern(row["entity"])
        cells = {(cell["kind"], cell["name"]): cell["actions"] for cell in row["cells"]}
        for user in USERS:
            column = ("user", user) if ("user", user) in named else ("everybody", "")
            for action in ACTIONS:
                found[entity, user, action] = cells.get(column, {}).get(action, {"verdict": "none"})["verdict"]
    return found


NOTHING: dict[str, Any] = {
    "policies": [],
    "tagPolicies": [],
    "roles": {role: ([], [], False) for role in ROLES},
    "groups": {},
    "tags": {},
    "super": "",
}
KV = {level: {"values": [value]} for level, value in resource(ENTITIES[1]).items()}


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(WORLDS)
@example(
    NOTHING  # a member of a group that a role has
    | {"policies": [{"resources": KV, "policyItems": [item("read", roles=["r1"])]}]}
    | {"roles": {"r1": ([], ["g1"], False), "r2": ([], [], False)}, "groups": {"ann": ["g1"]}}
)
@example(
    NOTHING  # an entity that only carries a tag
    | {"tagPolicies": [{"resources": {"tag": {"values": ["PII"]}}, "policyItems": [item("cdap:read", users=["ann"])]}]}
    | {"tags": {3: ["PII"]}}
)
@example(
    NOTHING  # a right that one policy gives and that an ended one gave
    | {
        "policies": [
            {"resources": KV, "policyItems": [item("read", users=["ann"])]},
            {"resources": KV, "policyItems": [item("read", users=["ann", "bob"])], "validitySchedules": ENDED},
        ]
    }
)
@example(
    NOTHING  # everybody's own namespace
    | {
        "policies": [
            {
                "resources": {"instance": {"values": ["cdap"]}, "namespace": {"values": ["{USER}"]}},
                "policyItems": [item("read", groups=["public"])],
            }
        ]
    }
)
def test_who_and_matrix_show_exactly_those_who_are_allowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], world: dict[str, Any]
) -> None:
    options = files(tmp_path, world)
    allowed = decided(tmp_path)
    timed = any(one.get("validitySchedules") == BEGUN for one in (*world["policies"], *world["tagPolicies"]))
    matrix = shown_by_matrix(options, capsys)
    for shown in (shown_by_who(options, capsys), matrix):
        for key, verdict in shown.items():
            if key not in allowed:
                continue  # an entity that a policy names beside those asked about
            assert verdict != "allowed" or allowed[key], key
            assert not allowed[key] or verdict in ("allowed", "conditional"), key
            assert timed or verdict != "conditional", f"{key}: nothing depends on a time"
    for n, tags in world["tags"].items():
        assert not tags or (ENTITIES[n], "ann", "READ") in matrix, "an entity that carries a tag has a row"
