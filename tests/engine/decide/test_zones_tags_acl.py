"""Security zones, tag policies, and who can do what."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from ranger_cdap.engine import AccessRequest, EngineOptions, RequestTag, Verdict
from ranger_cdap.engine.decide.tags import service_def_for_component
from ranger_cdap.engine.model.request import MatchingScope
from ranger_cdap.ranger_model.service_def import ServiceDef
from tests.engine.fixtures import RANGER, SAFE, TAG_ENRICHERS, asks, engine, item, on, policy

ALICE = item("alice", "read")
ZONES = {
    "east": {"resources": [{"hall": ["e*"]}], "policies": [policy(11, on(hall="*", shelf="*"), [ALICE])]},
    "attic": {"resources": [{"hall": ["a"], "shelf": ["old"]}], "policies": [policy(12, on(hall="a"), [ALICE])]},
    "both": {"resources": [{"hall": ["ex"]}], "policies": [policy(13, on(hall="*"), [ALICE])]},
}
COMMON_OPTIONS = policy(1, on(hall="*", shelf="*"), [item("bob", "read")])

IN_ZONES = [
    # resource, who, allowed, zone
    ({"hall": "e", "shelf": "s"}, "alice", True, "east"),
    ({"hall": "e", "shelf": "s"}, "bob", False, "east"),  # outside policies do not count inside
    ({"hall": "w", "shelf": "s"}, "bob", True, None),
    ({"hall": "w", "shelf": "s"}, "alice", False, None),
    ({"hall": "ex", "shelf": "s"}, "bob", True, None),  # in two zones: the outside ones decide
    ({"hall": "a"}, "alice", False, None),  # above a zone: as well
    ({"hall": "a", "shelf": "old"}, "alice", False, "attic"),
]


@pytest.mark.parametrize(("where", "who", "allowed", "zone"), IN_ZONES)
def test_a_zone_has_policies_of_its_own(where: Any, who: str, allowed: bool, zone: str | None) -> None:
    decided = engine(COMMON_OPTIONS, securityZones=ZONES).evaluate(asks(where, who))
    assert (decided.allowed, decided.zone) == (allowed, zone)


def test_an_empty_zone_allows_nothing_and_determines_nothing() -> None:
    judge = engine(COMMON_OPTIONS, securityZones={"z": {"resources": [{"hall": ["*"]}]}})
    decided = judge.evaluate(asks({"hall": "h"}, "bob"))
    assert (decided.allowed, decided.determined, decided.zone) == (False, False, "z")


TAG = {
    "name": "tag",
    "resources": [{"name": "tag", "matcherOptions": {"ignoreCase": "false"}}],
    "contextEnrichers": TAG_ENRICHERS,
    "accessTypes": [{"name": "shop:read"}, {"name": "shop:own", "impliedGrants": ["shop:read"]}, {"name": "hive:read"}],
}
OVER = [{"endTime": "2001/01/01 00:00:00"}]
STILL_ON = [{"startTime": "2001/01/01 00:00:00"}]
TAGS = {
    "tags": {"1": {"type": "SECRET"}, "2": {"type": "OPEN"}, "3": {"type": "OLD", "validityPeriods": OVER},
             "4": {"type": "TIMELY", "validityPeriods": STILL_ON}},
    "serviceResources": [
        {"id": 7, "resourceElements": on(hall="h", shelf="s")},
        {"id": 8, "resourceElements": on(hall="o")},
    ],
    "resourceToTagIds": {"7": [1, 3, 4], "8": [2, 99]},
}  # fmt: skip


def tagged(id_: int, tag: str, allow: Any = (), deny: Any = (), **more: Any) -> Any:
    return policy(id_, {"tag": {"values": [tag]}}, allow, deny, **more)


def linked(*policies: Any) -> Any:
    return {"tagPolicies": {"serviceName": "tags", "serviceDef": TAG, "policies": list(policies)}, "tags": TAGS}


SHELF, BOX, HALL = {"hall": "h", "shelf": "s"}, {"hall": "h", "shelf": "s", "box": "b"}, {"hall": "h"}
DENY = [item("alice", "shop:read")]
ABOVE = policy(2, on(hall="*", shelf="*"), [ALICE])
CLOSED = policy(2, on(hall="h", shelf="s"), [], [ALICE])
OF_BOB = policy(3, on(hall="h", shelf="s"), [item("bob", "read")], policyPriority=2)

BY_TAGS = [
    # tag policies, resource policies, the request, allowed, by
    ([tagged(5, "SECRET", DENY)], [], asks(SHELF), True, 5),
    ([tagged(5, "SECRET", [item("alice", "shop:own")])], [], asks(SHELF), True, 5),
    ([tagged(5, "SECRET", [item("alice", "hive:read")])], [], asks(SHELF), False, -1),
    ([tagged(5, "SECRET", DENY)], [], asks(BOX), True, 5),  # tags flow down
    ([tagged(5, "SECRET", DENY)], [], asks(HALL), False, -1),  # but not up,
    ([tagged(5, "SECRET", DENY)], [], asks(HALL, access="_any"), True, 5),  # unless anything below counts
    ([tagged(5, "SECRET", [], DENY)], [ABOVE], asks(SHELF), False, 5),
    ([tagged(5, "SECRET", [], DENY)], [{**ABOVE, "policyPriority": 1}], asks(SHELF), True, 2),
    ([tagged(5, "SECRET", [], DENY)], [{**CLOSED, "policyPriority": 1}], asks(SHELF), False, 2),
    ([tagged(5, "SECRET", [], DENY)], [CLOSED], asks(SHELF), False, 5),
    ([tagged(5, "SECRET", DENY)], [CLOSED], asks(SHELF), False, 2),
    ([tagged(5, "SECRET", DENY, policyPriority=1)], [CLOSED], asks(SHELF), True, 5),
    ([tagged(5, "S*X", DENY)], [], asks(SHELF), True, 5),  # only what is before the star is compared
    ([tagged(5, "NONE", [], DENY)], [ABOVE], asks(SHELF), True, 2),
    ([tagged(5, "GIVEN", [], DENY)], [ABOVE], asks(SHELF, tags=(RequestTag(type="GIVEN"),)), False, 5),
    ([tagged(5, "OLD", [], DENY)], [ABOVE], asks(SHELF, access_time=1_700_000_000_000), True, 2),
    ([tagged(5, "OLD", [], DENY)], [ABOVE], asks(SHELF), False, 5),  # no time: the tag counts against
    ([tagged(5, "OLD", DENY)], [], asks(SHELF), False, -1),  # and not in favour
    ([tagged(5, "TIMELY", DENY)], [], asks(SHELF, access_time=1_700_000_000_000), True, 5),
    ([tagged(5, "TIMELY", DENY)], [], asks(SHELF), False, -1),
    ([tagged(5, "SECRET", [], DENY, isEnabled=False)], [ABOVE], asks(SHELF), True, 2),
    # After a denial by tags the first policy that matches makes it final, also one about other users.
    ([tagged(5, "SECRET", [], DENY)], [{**ABOVE, "policyPriority": 1}, OF_BOB], asks(SHELF), False, 5),
]


@pytest.mark.parametrize(("tag_policies", "policies", "request_", "allowed", "by"), BY_TAGS)
def test_tag_policies(tag_policies: Any, policies: Any, request_: AccessRequest, allowed: bool, by: int) -> None:
    decided = engine(*policies, **linked(*tag_policies)).evaluate(request_)
    assert (decided.allowed, decided.policy_id) == (allowed, by)


def test_an_allow_by_tags_is_final_behind_a_policy_that_denies_nobody() -> None:
    allows, denies = tagged(5, "SECRET", DENY), tagged(6, "SECRET", [], DENY, policyPriority=-1)
    trace = engine(**linked(allows, denies)).explain(asks(SHELF)).trace
    assert {entry.policy_id: entry.outcome for entry in trace}.get(6) != "denies"
    assert [entry.outcome for entry in trace if entry.policy_id == 5] == ["allows"]


def test_what_denies_in_place_of_a_policy_below_makes_no_allow_by_tags_final() -> None:
    below = {**policy(4, on(hall="h", shelf="s", box="b"), [], [ALICE]), "policyItems": "?"}
    judge = engine(below, CLOSED, **linked(tagged(5, "SECRET", DENY)))
    for scope in (MatchingScope.SELF, MatchingScope.SELF_OR_DESCENDANTS):
        decided = judge.evaluate(asks(SHELF, matching_scope=scope))
        assert (decided.allowed, decided.policy_id) == (False, 2)


OF_COMPONENTS: list[tuple[Any, list[str]]] = [
    # access types of tags, and those of an item
    ({"accessTypes": [{"name": "read"}, {"name": "hive:write"}]}, ["read", "hive:write"]),
    ({"markerAccessTypes": [{"name": "shop:_ALL", "impliedGrants": ["shop:read", "hive:write"]}]}, ["shop:_ALL"]),
]


@pytest.mark.parametrize(("types", "given_"), OF_COMPONENTS)
def test_an_item_for_tags_gives_what_is_of_this_component_or_of_all(types: Any, given_: list[str]) -> None:
    definition = {**TAG, **types}
    policies = [tagged(5, "SECRET", [item("alice", *given_)])]
    judge = engine(tagPolicies={"serviceName": "tags", "serviceDef": definition, "policies": policies}, tags=TAGS)
    assert [judge.evaluate(asks(SHELF, access=access)).allowed for access in ("read", "write")] == [True, False]


UNKNOWN = [
    ({"tags": {}}, RANGER, "the type of tag 1 of a resource is unknown; it is ignored"),
    ({"tags": {}}, SAFE, "the type of tag 1 of a resource is unknown; it may be any tag, for denials only"),
    (
        {"tags": {"1": {"type": ""}}},
        RANGER,
        "the type of tag 1 of a resource is unknown; every tag policy applies to it",
    ),
    (
        {"tags": {"1": {"type": ""}}},
        SAFE,
        "the type of tag 1 of a resource is unknown; it may be any tag, for denials only",
    ),
]


@pytest.mark.parametrize(("fields", "options", "message"), UNKNOWN)
def test_an_unknown_tag_is_told_with_its_effect(fields: Any, options: EngineOptions, message: str) -> None:
    tags = {**TAGS, "resourceToTagIds": {"7": [1]}, **fields}
    judge = engine(ABOVE, options=options, **{**linked(), "tags": tags})
    assert [problem.message for problem in judge.problems] == [message]


ODD_PERIOD = [{"startTime": "soon", "timeZone": "Nowhere/At/All"}]
ODD_TAGS: list[tuple[Any, Any, dict[str, str | None], tuple[bool, bool]]] = [
    # what is odd, the policies, by mode: the message or None, and whether alice's READ is allowed
    (
        {"tags": {"1": {"type": "SECRET", "validityPeriods": ODD_PERIOD}}},
        [tagged(5, "SECRET", DENY)],
        {"ranger": None, "safe": "so tag `SECRET` only denies, at any time"},
        (True, False),
    ),
    (
        {"tags": {"1": {"type": "SECRET", "validityPeriods": ODD_PERIOD}}},
        [tagged(5, "SECRET", [], DENY)],
        {"ranger": None, "safe": "so tag `SECRET` only denies, at any time"},
        (False, False),
    ),
    (
        {"serviceResources": [{"resourceElements": on(hall="h", shelf="s")}]},
        [tagged(5, "SECRET", [], DENY)],
        {
            "ranger": "its tags are unknown without an id: it has no tags",
            "safe": "it may have any tag, for denials only",
        },
        (True, False),
    ),
    (
        {"serviceResources": [{"id": 7, "resourceElements": on(hall="h", lamp="s")}]},
        [tagged(5, "SECRET", [], DENY)],
        {"ranger": "so it has no tags", "safe": "so its tags apply to all resources it may cover, for denials only"},
        (True, False),
    ),
    (
        {"serviceResources": [{"id": 7, "resourceElements": on(hall="h", lamp="s")}]},
        [tagged(5, "SECRET", DENY)],
        {"ranger": "so it has no tags", "safe": "so its tags apply to all resources it may cover, for denials only"},
        (False, False),
    ),
    (
        {"serviceResources": [{"id": 7, "resourceElements": {}}]},
        [tagged(5, "SECRET", [], DENY)],
        {
            "ranger": "it has no levels, so it has no tags",
            "safe": "it has no levels, so its tags apply to all resources",
        },
        (True, False),
    ),
    (
        {"tags": {"1": {"type": ""}}},
        [tagged(5, "SECRET", [], DENY)],
        {"ranger": "every tag policy applies to it", "safe": "it may be any tag, for denials only"},
        (False, False),
    ),
    (
        {"tags": {"1": {"type": ""}}},
        [tagged(5, "SECRET", DENY)],
        {"ranger": "every tag policy applies to it", "safe": "it may be any tag, for denials only"},
        (True, False),
    ),
    (
        {"tags": {}},
        [tagged(5, "SECRET", [], DENY)],
        {"ranger": "it is ignored", "safe": "it may be any tag, for denials only"},
        (True, False),
    ),
]


@pytest.mark.parametrize("mode", [RANGER, SAFE], ids=["ranger", "safe"])
@pytest.mark.parametrize(("odd", "policies", "messages", "allowed"), ODD_TAGS)
def test_odd_tags_are_read_as_java_does_or_count_against_the_user(
    odd: Any, policies: Any, messages: dict[str, str | None], allowed: tuple[bool, bool], mode: EngineOptions
) -> None:
    tags = {**TAGS, "resourceToTagIds": {"7": [1]}, **odd}
    others = [ABOVE] if not policies[0]["policyItems"] else []
    judge = engine(*others, options=mode, **{**linked(*policies), "tags": tags})
    said, message = [problem.message for problem in judge.problems], messages[mode.compatibility]
    assert (len(said), all((message or "") in one for one in said)) == (message is not None, True), said
    decided = judge.evaluate(asks(SHELF, access_time=1_700_000_000_000))
    assert decided.allowed is allowed[mode is SAFE]


def test_tags_of_a_request_are_those_of_the_other_source_and_deny_only() -> None:
    given = (RequestTag(type="GIVEN"),)
    for mode, decided in ((RANGER, (True, False)), (SAFE, (False, False))):
        judge = engine(ABOVE, options=mode, **linked(tagged(5, "GIVEN", [], DENY)))
        assert judge.evaluate(asks(SHELF, tags=given)).allowed is decided[0]
        judge = engine(options=mode, **linked(tagged(5, "GIVEN", DENY)))
        assert judge.evaluate(asks(SHELF, tags=given)).allowed is decided[1]


def test_a_tag_service_has_the_access_types_of_a_component_without_its_name() -> None:
    of_all, of_shop = (
        {"name": "read", "impliedGrants": ["shop:write"]},
        {"name": "shop:own", "impliedGrants": ["hive:x"]},
    )
    definition = convert(
        {
            "name": "tag",
            "accessTypes": [of_all, of_shop, {"name": "hive:read"}],
            "markerAccessTypes": [
                {"name": "shop:_ALL", "impliedGrants": ["shop:own", "hive:own", "read"]},
                {"name": "hive:_ALL", "impliedGrants": ["hive:own"]},
                {"name": "_READ", "impliedGrants": ["shop:read", "hive:read"]},
            ],
        },
        ServiceDef,
    )
    found = service_def_for_component(definition, "shop")
    assert [(one.name, one.implied_grants) for one in found.access_types] == [("read", ["write"]), ("own", [])]
    assert [(one.name, one.implied_grants) for one in found.marker_access_types] == [
        ("_ALL", ["own", "read"]),
        ("_READ", ["read"]),
    ]


def test_an_unreadable_tag_policy_with_a_deny_side_denies_on_its_tag() -> None:
    judge = engine(ABOVE, **linked({**tagged(5, "SECRET", [], DENY), "policyItems": "?"}))
    assert not judge.evaluate(asks(SHELF)).allowed
    assert judge.evaluate(asks({"hall": "x"})).allowed
    assert [p.policy_id for p in judge.problems if p.code == "unreadable-policy"] == [5]


def test_who_can_do_what() -> None:
    judge = engine(
        policy(1, on(hall="h", shelf="*"), [item("@staff", "write"), item("alice", "read")]),
        policy(2, on(hall="h"), [], [item("bob %guest", "read")]),
        policy(3, on(hall="h"), [item("carol", "read", conditions=[{"type": "ip", "values": ["10.0.0.1"]}])]),
        policy(4, on(hall="h"), [item("{OWNER}", "own")]),
        policy(5, on(hall="elsewhere"), [item("mallory", "read")]),
    )
    table = judge.who_can({"hall": "h"}, owner="dora")
    standings = {
        kind: {n: {a: (e.verdict, e.policy_id) for a, e in row.items()} for n, row in getattr(table, kind).items()}
        for kind in ("users", "groups", "roles")
    }
    assert standings["users"] == {
        "alice": {"read": (Verdict.ALLOWED, 1)},
        "bob": {"read": (Verdict.DENIED, 2)},
        "carol": {"read": (Verdict.CONDITIONAL, 3)},
        "dora": dict.fromkeys(("read", "write", "own"), (Verdict.ALLOWED, 4)),
    }
    assert standings["groups"] == {"staff": {"read": (Verdict.ALLOWED, 1), "write": (Verdict.ALLOWED, 1)}}
    assert standings["roles"] == {"guest": {"read": (Verdict.DENIED, 2)}}
    assert table.all_users == {}
    assert judge.who_can({"hall": "h", "colour": "red"}).users == {}


# Who can do what is asked at no time, so that the tag `OLD` may be in effect or over; `SECRET` surely is.
WHO_CAN_BY_TAGS = [
    (tagged(5, "SECRET", [], DENY), ABOVE, Verdict.DENIED, 5),
    (tagged(5, "OLD", [], DENY), ABOVE, Verdict.CONDITIONAL, 2),
    (tagged(5, "SECRET", DENY), CLOSED, Verdict.DENIED, 2),
    (tagged(5, "SECRET", DENY), {**ABOVE, "isEnabled": False}, Verdict.ALLOWED, 5),
    (tagged(5, "OLD", DENY), {**ABOVE, "isEnabled": False}, Verdict.CONDITIONAL, 5),
]


@pytest.mark.parametrize(("tag_policy", "resource_policy", "status", "by"), WHO_CAN_BY_TAGS)
def test_a_tag_that_may_be_over_makes_access_conditional(
    tag_policy: Any, resource_policy: Any, status: Verdict, by: int
) -> None:
    table = engine(resource_policy, **linked(tag_policy)).who_can(SHELF)
    entry = table.users["alice"]["read"]
    assert (entry.verdict, entry.policy_id) == (status, by)


whom = st.sampled_from(["alice", "bob", "@staff", "%lead", "@public", "{USER}"])
items = st.lists(st.builds(item, whom, st.sampled_from(["read", "write", "own"])), max_size=2)
places = st.sampled_from([on(hall="h"), on(hall="h", shelf="*"), on(hall="*"), on(hall="{USER}"), on(hall="x")])
drawn = st.builds(
    lambda id_, where, allow, deny, spared, all_else, priority: policy(
        id_, where, allow, deny, denyExceptions=spared, isDenyAllElse=all_else, policyPriority=priority
    ),
    st.integers(1, 99),
    places,
    items,
    items,
    items,
    st.sampled_from([False, False, True]),
    st.integers(0, 1),
)


@given(st.lists(drawn, max_size=4, unique_by=lambda p: p["id"]))
def test_who_can_agrees_with_evaluate(policies: list[Any]) -> None:
    roles = [{"name": "lead", "users": [{"name": "alice"}]}]
    judge = engine(*policies, roles=roles, options=RANGER)
    table = judge.who_can({"hall": "h"})
    for access in ("read", "write", "own", "_admin"):
        for user in ("alice", "bob"):
            entry = table.users.get(user, table.all_users).get(access)
            allowed = entry is not None and entry.verdict is Verdict.ALLOWED
            assert allowed is judge.evaluate(asks({"hall": "h"}, user, access)).allowed
        for group in table.groups:
            entry = table.groups[group].get(access)
            judged = judge.evaluate(asks({"hall": "h"}, f"somebody @{group}", access))
            assert (entry is not None and entry.verdict is Verdict.ALLOWED) is judged.allowed
