"""Audit filters, clause by clause (ranger-semantics.md §11.3); the corpus has those that Java was asked about."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ranger_cdap.engine import RequestTag
from ranger_cdap.engine.model.request import MatchingScope
from tests.engine.fixtures import Json, asks, engine, item, on, policy

SHELF, HALL = {"hall": "h", "shelf": "s"}, {"hall": "h"}
BELOW = MatchingScope.SELF_OR_DESCENDANTS
OF_SHELF = {"resources": on(hall="h", shelf="s")}

CASES: list[tuple[str, Json, dict[str, str], dict[str, Any], bool]] = [
    ("a filter without anything is for every request", {}, SHELF, {}, True),
    ("its resource", OF_SHELF, SHELF, {}, True),
    ("not what is above its resource", OF_SHELF, HALL, {}, False),
    ("what is above it, if what is below is asked for", OF_SHELF, HALL, {"matching_scope": BELOW}, True),
    ("not another one, whatever is asked for", OF_SHELF, {"hall": "x"}, {"matching_scope": BELOW}, False),
    ("a truth as text, as Ranger reads it", {"isAudited": "true"}, SHELF, {}, True),
    ("an untruth as text", {"isAudited": "false"}, SHELF, {}, False),
    ("an allowed access", {"accessResult": "ALLOWED"}, SHELF, {}, True),
    ("not a denied one", {"accessResult": "ALLOWED"}, SHELF, {"who": "bob"}, False),
    ("a denied access, also one that no policy is about", {"accessResult": "DENIED"}, {"hall": "x"}, {}, True),
    ("no result, which an access has", {"accessResult": "NOT_DETERMINED"}, {"hall": "x"}, {}, False),
    ("its user", {"users": ["alice"]}, SHELF, {}, True),
    ("not another user", {"users": ["bob"]}, SHELF, {}, False),
    ("its group", {"groups": ["staff"]}, SHELF, {"who": "alice @staff"}, True),
    ("not another group", {"groups": ["staff"]}, SHELF, {"who": "alice @boss"}, False),
    ("its role", {"roles": ["lead"]}, SHELF, {"who": "alice %lead"}, True),
    ("everyone, beside a user", {"users": ["bob"], "groups": ["public"]}, SHELF, {}, True),
    ("each user, beside a group", {"users": ["{USER}"], "groups": ["boss"]}, SHELF, {}, True),
    ("its access type", {"accessTypes": ["read"]}, SHELF, {}, True),
    ("not another access type", {"accessTypes": ["write"]}, SHELF, {}, False),
    ("its action", {"actions": ["look"]}, SHELF, {"action": "look"}, True),
    ("its action, of any access type", {"actions": ["look"], "accessTypes": ["x"]}, SHELF, {"action": "look"}, True),
    ("not another action", {"actions": ["look"]}, SHELF, {"action": "take"}, False),
]  # fmt: skip


QUOTED = [
    # the filters' users as Ranger writes them, and who is meant
    ("['alice']", "alice"),
    ('["alice"]', "alice"),
    (r"['o\'neil']", "o'neil"),
    ("""['al"ice']""", 'al"ice'),
    ("""["o'neil"]""", "o'neil"),
]


@pytest.mark.parametrize(("users", "who"), QUOTED)
def test_texts_have_either_quotes_and_the_other_ones_inside(users: str, who: str) -> None:
    silent = policy(1, on(hall="h"), [item("@public", "read")], isAuditEnabled=False)
    judge = engine(silent, serviceConfig={"ranger.plugin.audit.filters": f"[{{'isAudited':true,'users':{users}}}]"})
    assert judge.problems == ()
    assert [judge.evaluate(asks(HALL, user)).audited for user in (who, "bob")] == [True, False]


@pytest.mark.parametrize(("result", "audited"), [("NOT_DETERMINED", True), ("DENIED", False), ("ALLOWED", False)])
def test_a_zone_without_policies_determines_no_result(result: str, audited: bool) -> None:
    text = msgspec.json.encode([{"isAudited": True, "accessResult": result}]).decode()
    zones = {"z": {"resources": [{"hall": ["h"]}]}}
    outside = policy(1, on(hall="x"), [item("alice", "read")], isAuditEnabled=False)
    judge = engine(outside, securityZones=zones, serviceConfig={"ranger.plugin.audit.filters": text})
    assert judge.evaluate(asks(HALL)).audited is audited


TAGGED = [
    # the tag that a filter names, whether case is ignored; whether a request about what is tagged SECRET is audited
    ("SECRET", "false", True),
    ("SEC", "false", False),
    ("SECRETS", "false", False),
    ("SEC*X", "false", True),  # only what is before the star is compared, as in tag policies
    ("*", "false", True),
    ("OTHER*", "false", False),
    ("secret", "false", False),
    ("secret", "true", True),
    ("Sec*", "true", True),
    ("other", "true", False),
]


@pytest.mark.parametrize(("tag", "ignore_case", "audited"), TAGGED)
def test_a_filter_of_a_tag_is_for_what_has_it(tag: str, ignore_case: str, audited: bool) -> None:
    filter_ = {"isAudited": True, "resources": {"tag": {"values": [tag]}}}
    linked = {
        "serviceName": "tags",
        "serviceDef": {"name": "tag", "resources": [{"name": "tag", "matcherOptions": {"ignoreCase": ignore_case}}]},
        "serviceConfig": {"ranger.plugin.audit.filters": msgspec.json.encode([filter_]).decode()},
    }
    judge = engine(policy(1, on(hall="h"), [item("alice", "read")], isAuditEnabled=False), tagPolicies=linked)
    assert judge.problems == ()
    assert judge.evaluate(asks(HALL, tags=(RequestTag(type="SECRET"),))).audited is audited


@pytest.mark.parametrize(("about", "filter_", "where", "request_", "audited"), CASES, ids=[case[0] for case in CASES])
def test_a_filter_is_for(
    about: str, filter_: Json, where: dict[str, str], request_: dict[str, Any], audited: bool
) -> None:
    silent = policy(1, on(hall="h", shelf="s"), [item("alice", "read")], isAuditEnabled=False)
    text = msgspec.json.encode([{"isAudited": True, **filter_}]).decode()
    judge = engine(silent, serviceConfig={"ranger.plugin.audit.filters": text})
    assert judge.problems == ()
    assert judge.evaluate(asks(where, **request_)).audited is audited
