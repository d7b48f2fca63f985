"""AuthZEN's searches over a socket: each result is permitted, nothing permitted is missing, and pages are the whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from ranger_cdap.engine import PolicyEngine
from ranger_cdap.engine.compiled.matcher import compile_element
from ranger_cdap.policies.client.versions import Versions
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.policies.refresh.policy_refresher import Snapshot
from ranger_cdap.policies.refresh.refresh_state import PolicyState
from tests.analysis.small_sets import ADDRESSES, GROUPS, TIMES, VALUES, definition, engine, numbered
from tests.analysis.test_impact_laws import SETS, drawn, features_of, randoms
from tests.analysis.test_reach_laws import drawn_set, reading
from tests.authz.fixtures import Json, policy
from tests.service.fixtures import Answer, World, serving
from tests.service.record_services import people, records

ALL = "conditions+macros+zones+tags+super"
MEMBERS = {"u": ["g"], "w": ["g", "h"], "a": [], "x": ["h"]}
"""Ranger's user store: v is not in it, a has no group."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    others = (records(), small([reading_all("u")]))
    with serving([], tmp_path_factory.mktemp("search"), others=others, max_batch=1000) as running:
        yield running


def small(policies: list[Json], version: int = 1) -> PolicyEngine:
    download = {"serviceName": "s", "policyVersion": version, "serviceDef": definition(False)}
    return engine({"policies": download | {"policies": numbered(policies)}, "roles": {}})


def on(base: str, *tables: str, **more: Any) -> Json:
    return {"resources": {"base": {"values": [base]}, "table": {"values": list(tables)}}, **more}


def reading_all(user: str) -> Json:
    return on("*", "*", policyItems=[reading(user)])


def decides(world: World, judge: PolicyEngine, users: int = 1) -> None:
    """From now on these policies and the user store decide for the service `s`."""
    store = {"userStoreVersion": users, "userGroupMapping": MEMBERS, "userAttrMapping": {"u": {}, "z": {}}}
    documents = Documents(b"{}", b"{}", users=msgspec.json.encode(store))
    groups_of = {user: frozenset(groups) for user, groups in MEMBERS.items()}
    world.state.services["s"].refresher.snapshot = Snapshot(  # type: ignore[misc]
        judge, PolicyState.FRESH, "", versions=Versions(users=users), documents=documents,
        groups_of=lambda user: groups_of.get(user, frozenset()),
    )  # fmt: skip


def post(world: World, path: str, body: Any, caller: str = "delegate") -> Answer:
    return world.ask(caller, "POST", f"/access/v1/{path}", body)


def found(world: World, path: str, body: Json) -> Json:
    answer = post(world, f"search/{path}", body)
    assert answer.status == 200, answer.body
    assert isinstance(answer.json, dict)
    return answer.json


def refused(answer: Answer) -> str:
    assert answer.status == 400, answer.body
    assert isinstance(answer.json, str)
    return answer.json


def evaluated(world: World, whole: Json, items: list[Json]) -> list[bool]:
    if not items:
        return []
    answer = post(world, "evaluations", whole | {"evaluations": items}).json
    assert all("error" not in one["context"] for one in answer["evaluations"]), answer
    return [one["decision"] for one in answer["evaluations"]]


def circumstances(random: Random) -> Json:
    """A context and an owner, of a small universe."""
    given_address, owner = random.choice(ADDRESSES), random.choice(("u", "a", None))
    context: Json = {"serviceName": "s", "accessTime": random.choice(TIMES[:2])}
    context |= {"clientIpAddress": given_address} if given_address else {}
    return {"context": context, "resource": {"properties": {"OWNER": owner}} if owner else {}}


def covers(levels: Json, values: dict[str, str], judge: PolicyEngine) -> bool:
    return all(
        compile_element(level["values"], level.get("isExcludes", False), judge.state.model.levels[name]).covers(
            values[name], None
        )
        for name, level in levels.items()
    )


def matched(pattern: Json, values: dict[str, str], judge: PolicyEngine) -> bool:
    within = pattern.get("within")
    return covers(pattern["resource"], values, judge) and (
        not within or any(covers(levels, values, judge) for levels in within)
    )


@pytest.mark.parametrize("kind", ["plain", "macros", pytest.param(ALL, marks=pytest.mark.slow)])
def test_resources_found_are_those_that_evaluation_permits(world: World, kind: str) -> None:
    counted = {"found": 0, "pattern": 0, "sure": 0}

    @settings(drawn, max_examples=2 * SETS)
    @given(randoms)
    def holds(random: Random) -> None:
        made = drawn_set(random, features_of(kind))
        if made is None:
            return
        _, judge = made
        decides(world, judge)
        more, type_ = circumstances(random), random.choice(("base", "table"))
        groups = random.sample(GROUPS, random.randint(0, 2))
        subject = {"type": "user", "id": random.choice(("u", "v", "a", "w")), "properties": {"groups": groups}}
        asked = {"subject": subject, "action": {"name": random.choice(("read", "write"))}, "context": more["context"]}
        answer = found(world, "resource", asked | {"resource": {"type": type_, **more["resource"]}})
        ids = [one["id"] for one in answer["results"]]
        assert ids == sorted(set(ids))
        assert all(one["type"] == type_ for one in answer["results"])
        path = ("base",) if type_ == "base" else ("base", "table")
        universe = ["/".join(values) for values in product(VALUES, repeat=len(path))]
        names = [*ids, *universe]
        decisions = evaluated(
            world, asked, [{"resource": {"type": type_, "id": id_, **more["resource"]}} for id_ in names]
        )
        assert all(decisions[: len(ids)])
        folded = judge.state.model.levels["base"].ignore_case
        known = {id_.lower() if folded else id_ for id_ in ids}
        counted["found"] += len(ids)
        for id_, allowed in zip(universe, decisions[len(ids) :], strict=True):
            values = dict(zip(path, id_.split("/"), strict=True))
            patterns = [one for one in answer.get("context", {}).get("patterns", ()) if matched(one, values, judge)]
            if allowed:
                assert patterns or (id_.lower() if folded else id_) in known
                counted["pattern"] += bool(patterns)
            for one in patterns:
                excepted = any(covers(each["resource"], values, judge) for each in one.get("exceptions", ()))
                assert allowed or excepted or one.get("undecided")
                counted["sure"] += not (excepted or one.get("undecided", False))

    holds()
    assert min(counted.values()) > 0, counted


def named_users(documents: Json) -> set[str]:
    """Users whom roles, and allow items of policies in effect name."""
    policies = [one for one in documents["policies"]["policies"] if one["isEnabled"]]
    items = [item for one in policies if one["denyPolicyItems"] != "unreadable" for item in one["policyItems"]]
    members = [member["name"] for role in documents["roles"]["rangerRoles"] for member in role["users"]]
    return {user for item in items for user in item["users"]} | set(members)


@pytest.mark.parametrize("kind", ["plain", "macros", pytest.param(ALL, marks=pytest.mark.slow)])
def test_users_found_are_those_that_evaluation_permits(world: World, kind: str) -> None:
    counted = {"found": 0, "others": 0, "through a group": 0}

    @settings(drawn, max_examples=2 * SETS)
    @given(randoms)
    def holds(random: Random) -> None:
        made = drawn_set(random, features_of(kind))
        if made is None:
            return
        documents, judge = made
        decides(world, judge)
        more, id_ = circumstances(random), "/".join(random.choice(VALUES) for _ in range(2))
        resource = {"type": "table", "id": id_, **more["resource"]}
        asked = {"resource": resource, "action": {"name": random.choice(("read", "write"))}, "context": more["context"]}
        answer = found(world, "subject", asked | {"subject": {"type": "user", "id": "ignored"}})
        ids = [one["id"] for one in answer["results"]]
        assert ids == sorted(set(ids))
        named = {user for user in ("u", "v") if user in named_users(documents)}
        everyone = sorted({*MEMBERS, "z", *named, *ids})
        decisions = evaluated(world, asked, [{"subject": {"type": "user", "id": user}} for user in everyone])
        assert ids == [user for user, allowed in zip(everyone, decisions, strict=True) if allowed]
        counted["found"] += len(ids)
        counted["others"] += len(everyone) - len(ids)
        counted["through a group"] += ("w" in ids) > ("z" in ids)

    holds()
    assert min(counted.values()) > 0, counted


# --- resources ----------------------------------------------------------------------------------------------------

TABLES = {"subject": {"type": "user", "id": "u"}, "action": {"name": "read"}, "resource": {"type": "table"}}


def test_a_wildcard_is_a_pattern_with_its_policy_and_its_exceptions(world: World) -> None:
    denial = on("a", "b*", denyPolicyItems=[reading("u")])
    decides(world, small([on("a", "*", policyItems=[reading("u")]), denial, on("a", "c", policyItems=[reading("v")])]))
    assert found(world, "resource", TABLES) == {
        "context": {
            "patterns": [
                {
                    "resource": {"base": {"values": ["a"]}, "table": {"values": ["*"]}},
                    "policy": {"id": 1, "version": 1},
                    "exceptions": [
                        {
                            "resource": {"base": {"values": ["a"]}, "table": {"values": ["b*"]}},
                            "policy": {"id": 2, "version": 1},
                        }
                    ],
                }
            ]
        },
        "results": [{"type": "table", "id": "a/c"}],
    }


def test_a_wildcard_of_which_all_is_denied_is_no_pattern(world: World) -> None:
    denial = on("*", "*", denyPolicyItems=[reading("u")])
    decides(world, small([on("a", "*", policyItems=[reading("u")]), denial]))
    assert found(world, "resource", TABLES) == {"results": []}


def test_a_name_is_written_as_evaluation_reads_it(world: World) -> None:
    decides(world, small([on("a/b\\c", "d/e\\f", policyItems=[reading("u")])]))
    (one,) = found(world, "resource", TABLES)["results"]
    assert one == {"type": "table", "id": "a\\/b\\\\c/d/e\\\\f"}
    assert evaluated(world, TABLES, [{"resource": one}]) == [True]


RECORDS = [
    # user, action, context, properties of the user; found
    ("alice", {"name": "read"}, {}, {}, {"new", "record-1"}),
    ("alice", {"name": "read"}, {"place": "home"}, {}, {"house", "new", "of-{TEAM}", "record-1"}),
    ("alice", {"name": "read"}, {"place": "home", "token:TEAM": "red"}, {}, {"house", "new", "of-red", "record-1"}),
    ("alice", {"name": "read"}, {"accessTime": 1_560_000_000_000}, {}, {"old", "record-1"}),
    ("alice", {"name": "delete"}, {}, {}, set()),
    ("alice", {"name": "delete", "properties": {"soft": True}}, {}, {}, {"record-1"}),
    ("bob", {"name": "write"}, {}, {}, set()),
    ("bob", {"name": "write"}, {}, {"role": "admin"}, {"record-2"}),
    ("eve", {"name": "read"}, {}, {"groups": ["auditors"]}, {"owned"}),
    ("eve", {"name": "fly"}, {}, {}, set()),
]


@pytest.mark.parametrize(("user", "action", "context", "properties", "expected"), RECORDS)
def test_circumstances_decide(
    world: World, user: str, action: Json, context: Json, properties: Json, expected: set[str]
) -> None:
    subject = {"type": "user", "id": user, "properties": properties}
    asked = {"subject": subject, "action": action, "context": context}
    answer = found(world, "resource", asked | {"resource": {"type": "record", "id": "ignored"}})
    assert {one["id"] for one in answer["results"]} == expected
    assert all(evaluated(world, asked, [{"resource": one} for one in answer["results"]]))


def test_the_properties_of_the_resource_are_those_of_every_resource(world: World) -> None:
    asked = {"subject": {"type": "user", "id": "dan"}, "action": {"name": "read"}}
    mine = {"type": "record", "properties": {"OWNER": "dan"}}
    assert found(world, "resource", asked | {"resource": mine})["results"] == [{"type": "record", "id": "owned"}]
    assert found(world, "resource", asked | {"resource": {"type": "record"}})["results"] == []


def test_a_super_user_reaches_everything_by_no_policy(world: World) -> None:
    download = {"serviceName": "s", "serviceDef": definition(False), "policies": [], "policyVersion": 1}
    download |= {"serviceConfig": {"ranger.plugin.super.users": "u"}, "policies": numbered([reading_all("v")])}
    decides(world, engine({"policies": download, "roles": {}}))
    (one,) = found(world, "resource", TABLES)["context"]["patterns"]
    assert one == {"resource": {"base": {"values": ["*"]}, "table": {"values": ["*"]}}}


def test_nothing_of_a_search_is_audited(world: World) -> None:
    world.memory.records.clear()
    decides(world, small([reading_all("u")]))
    found(world, "resource", TABLES)
    assert world.memory.records == []


# --- subjects -----------------------------------------------------------------------------------------------------


def test_a_member_of_a_group_of_the_user_store_is_found(world: World) -> None:
    decides(world, small([on("a", "b", policyItems=[{"groups": ["h"], "accesses": [{"type": "read"}]}])]))
    asked = {"action": {"name": "read"}, "resource": {"type": "table", "id": "a/b"}}
    for kind, names in (("user", ["w", "x"]), ("group", ["h"]), ("role", [])):
        answer = found(world, "subject", asked | {"subject": {"type": kind}})
        assert answer == {"results": [{"type": kind, "id": name} for name in names]}


def test_subjects_are_found_in_the_circumstances_of_the_request(world: World) -> None:
    asked = {"subject": {"type": "user"}, "resource": {"type": "record", "id": "record-1"}}
    for soft, names in ((True, ["alice"]), (False, [])):
        action = {"name": "delete", "properties": {"soft": soft}}
        assert [one["id"] for one in found(world, "subject", asked | {"action": action})["results"]] == names


# --- pages --------------------------------------------------------------------------------------------------------

MANY = small([on("a", *(f"t{n:02}" for n in range(25)), policyItems=[reading(user)]) for user in "uvwxyz"])
SEARCHES = {
    "resource": TABLES,
    "subject": {"subject": {"type": "user"}, "action": {"name": "read"}, "resource": {"type": "table", "id": "a/t00"}},
    "action": {"subject": {"type": "user", "id": "alice"}, "resource": {"type": "record", "id": "record-1"}},
}


@pytest.mark.parametrize("limit", [1, 2, 7, 25, 26])
@pytest.mark.parametrize("path", SEARCHES)
def test_the_pages_together_are_the_unpaged_result(world: World, path: str, limit: int) -> None:
    decides(world, MANY)
    whole, results, page = found(world, path, SEARCHES[path]), [], {"limit": limit}
    assert "page" not in whole
    while True:
        answer = found(world, path, SEARCHES[path] | {"page": page})
        assert next(iter(answer)) == "page"
        assert answer["page"]["count"] == len(answer["results"]) <= limit
        assert answer["page"]["total"] == len(whole["results"])
        results += answer["results"]
        page = {"token": answer["page"]["next_token"]}
        if not page["token"]:
            break
    assert results == whole["results"]
    assert len(results) > 1


def test_a_token_of_another_request_is_refused(world: World) -> None:
    decides(world, MANY)
    first = found(world, "resource", TABLES | {"page": {"limit": 2}})["page"]["next_token"]
    assert found(world, "resource", TABLES | {"page": {"limit": 2, "token": first}})["page"]["count"] == 2
    changes: list[Json] = [
        {"subject": {"type": "user", "id": "v"}},
        {"action": {"name": "write"}},
        {"resource": {"type": "base"}},
        {"context": {"place": "home"}},
    ]
    for change in changes:
        answer = post(world, "search/resource", TABLES | change | {"page": {"token": first}})
        assert "another request" in refused(answer)
    whole = TABLES | {"resource": {"type": "table", "id": "a/t00"}}
    other = found(world, "subject", whole | {"page": {"limit": 2}})["page"]["next_token"]
    assert "another request" in refused(post(world, "search/resource", whole | {"page": {"token": other}}))


def test_a_token_ends_with_the_version_of_policies_or_users(world: World) -> None:
    for policies, users in ((2, 1), (1, 2)):
        decides(world, small([on("a", "b", "c", policyItems=[reading("u")])]))
        token = found(world, "resource", TABLES | {"page": {"limit": 1}})["page"]["next_token"]
        decides(world, small([on("a", "b", "c", policyItems=[reading("u")])], policies), users)
        answer = post(world, "search/resource", TABLES | {"page": {"token": token}})
        assert "the policies have changed" in refused(answer)


def test_a_token_gives_no_caller_anything(world: World) -> None:
    decides(world, MANY)
    token = found(world, "resource", TABLES | {"page": {"limit": 2}})["page"]["next_token"]
    for caller in ("evaluate", "enforce"):
        assert post(world, "search/resource", TABLES | {"page": {"token": token}}, caller).status == 403


def test_patterns_are_on_the_first_page_only(world: World) -> None:
    decides(world, small([on("a", "*", policyItems=[reading("u")]), on("a", "b", "c", policyItems=[reading("u")])]))
    first = found(world, "resource", TABLES | {"page": {"limit": 1}})
    second = found(world, "resource", TABLES | {"page": {"token": first["page"]["next_token"]}})
    assert len(first["context"]["patterns"]) == 1
    assert second == {"page": {"next_token": "", "count": 1, "total": 2}, "results": [{"type": "table", "id": "a/c"}]}


def test_a_limit_of_nothing_only_counts(world: World) -> None:
    decides(world, MANY)
    page = found(world, "resource", TABLES | {"page": {"limit": 0}})["page"]
    assert (page["count"], page["total"]) == (0, 25)
    assert page["next_token"]


# --- bad input ----------------------------------------------------------------------------------------------------

WRONG_PAGES = [
    7, "x", [], {"limit": -1}, {"limit": 1.5}, {"limit": "1"}, {"limit": True}, {"token": 7}, {"token": []},
    {"token": "garbage"}, {"token": "ä" * 40}, {"token": "A" * 40}, {"token": "A" * 100_000}, {"token": "\ud800"},
]  # fmt: skip


@pytest.mark.parametrize("page", WRONG_PAGES)
@pytest.mark.parametrize("path", SEARCHES)
def test_a_wrong_page_is_refused(world: World, path: str, page: Any) -> None:
    assert refused(post(world, f"search/{path}", SEARCHES[path] | {"page": page}))


FINE_PAGES: list[Json | None] = [None, {}, {"limit": 10**15}, {"token": None}, {"token": ""}, {"properties": {"x": 1}}]


@pytest.mark.parametrize("page", FINE_PAGES)
def test_a_page_may_leave_everything_open(world: World, page: Json | None) -> None:
    decides(world, MANY)
    assert len(found(world, "resource", TABLES | {"page": page})["results"]) == 25


WRONG = [
    ({"subject": None}, "`subject` is missing"),
    ({"subject": {"type": "user"}}, "`subject.id` is missing"),
    ({"subject": {"id": "u"}}, "`subject.type` is missing"),
    ({"action": None}, "`action` is missing"),
    ({"action": {"name": " "}}, "`action.name` is missing"),
    ({"action": {"name": "_any"}}, "a search takes one permission of the service definition, not `_any`"),
    ({"resource": None}, "`resource` is missing"),
    ({"resource": {"id": "a/b"}}, "`resource.type` is missing"),
    ({"context": {"accessTime": "now"}}, "`context` is not a valid access context"),
    ({"context": {"serviceName": "nope"}}, "AUTHZ-400-00-001: nope: service not found"),
    ({"subject": {"type": "user", "id": "u", "properties": {"roles": ["r"]}}}, "`roles` cannot be sent"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_a_search_for_resources_that_can_not_be_answered_says_why(world: World, change: Json, message: str) -> None:
    assert refused(post(world, "search/resource", TABLES | change)).startswith(message)


NOTHING = [
    {"subject": {"type": "spaceship", "id": "u"}},
    {"subject": {"type": "group", "id": "public"}},
    {"resource": {"type": "spaceship"}},
    {"subject": {"type": "user", "id": "nobody-knows"}},
    {"subject": {"type": "user", "id": "u" * 100_000}},
]


@pytest.mark.parametrize("change", NOTHING)
def test_what_nothing_is_known_of_has_nothing(world: World, change: Json) -> None:
    decides(world, MANY)
    assert found(world, "resource", TABLES | change) == {"results": []}


def test_operations_of_cdap_are_not_searched_for(world: World) -> None:
    asked = TABLES | {"action": {"name": "dataset.get"}, "resource": {"type": "dataset"}}
    assert "not an operation of CDAP" in refused(post(world, "search/resource", asked))


def test_resources_of_a_service_that_masks_data_are_not_listed(tmp_path: Any) -> None:
    asked = {"subject": {"type": "user", "id": "alice"}, "action": {"name": "see"}, "resource": {"type": "person"}}
    with serving([policy(1, {"namespace": "ns1"}, ["alice"], ["read"])], tmp_path, others=[people()]) as world:
        assert post(world, "search/resource", asked).status == 501
