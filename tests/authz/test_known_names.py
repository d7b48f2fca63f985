"""Names that nothing names are unknown, with the nearest ones; names that something names never are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decider import NOTHING_ELSE, Decider
from ranger_cdap.authz.known_names import KnownNames
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.cdap.entity import entity_id, parse_entity
from ranger_cdap.cdap.pattern import parse_pattern
from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.cdap.unknown_name import UnknownName
from ranger_cdap.config import RangerSettings, Settings
from ranger_cdap.ranger.refresh.fixed import documents
from tests.cli.fixtures import COMPANY, ROLES, USERS, download, item, policy

Json = dict[str, Any]
WORDS = st.text("abcd", min_size=1, max_size=5)


def names_of(policies: list[Json], *, store: Json | None = USERS, inventory: tuple[str, ...] = ()) -> KnownNames:
    files = (download(policies), ROLES, None, store)
    found = documents(*(None if one is None else json.dumps(one).encode() for one in files))  # type: ignore[arg-type]
    authorizer = Authorizer(Decider.of_documents(found, Settings(ranger=RangerSettings(service="cdapdev"))))
    return KnownNames.of(authorizer, PolicyIndex.of(found), map(parse_entity, inventory))


def told(found: tuple[UnknownName, ...]) -> list[str]:
    return [f"{one.kind} {one.name}: {', '.join(one.nearest)}{' (covered)' if one.covered else ''}" for one in found]


SALES = [
    policy(1, {"namespace": "sales"}, item("read", groups=["analysts"], users=["{USER}"])),
    policy(2, {"namespace": "sales", "dataset": "orders"}, item("read", users=["alice"])),
    policy(3, {"namespace": "*", "dataset": "mart_*"}, item("read", roles=["ops"])),
    policy(4, {"namespace": "web_*"}, item("read", roles=["ops"])),
]
QUESTIONS = {
    "a typo of a namespace": ((), (), "namespace:salse", ["namespace salse: sales"]),
    "a typo above": ((), (), "dataset:salse.orders", ["namespace salse: sales"]),
    "a typo below": ((), (), "dataset:sales.ordres", ["dataset sales.ordres: sales.orders"]),
    "a typo that a wildcard matches": ((), (), "dataset:sales.mart_x", ["dataset sales.mart_x:  (covered)"]),
    "a namespace that a wildcard names": ((), (), "namespace:web_de", ["namespace web_de:  (covered)"]),
    "a namespace of CDAP": ((), (), "namespace:system", []),
    "no type of which a name is known": ((), (), "topic:sales.t", []),
    "a pattern": ((), (), "dataset:sales.or*", []),
    "a pattern in a typo": ((), (), "dataset:salse.or*", ["namespace salse: sales"]),
    "of an inventory": ((), (), "dataset:sales.stock", []),
    "all there is": ((), (), "instance:", []),
    "a user of a policy": (("alice",), (), "", []),
    "a user of a role": (("olga",), (), "", []),
    "a user of the store": (("zoe",), (), "", []),
    "the master": (("cdap",), (), "", []),
    "a typo of a user": (("alcie",), (), "", ["user alcie: alice"]),
    "a macro": (("{USER}",), (), "", ["user {USER}: "]),
    "groups": ((), ("analysts", "oncall", "sales", "public", "analyst"), "", ["group analyst: analysts"]),
}


@pytest.mark.parametrize(("users", "groups", "entity", "expected"), QUESTIONS.values(), ids=QUESTIONS)
def test_what_is_unknown_and_what_is_near(
    users: tuple[str, ...], groups: tuple[str, ...], entity: str, expected: list[str]
) -> None:
    names = names_of(SALES, inventory=("dataset:sales.stock",))
    assert told(names.unknown(users, groups, [parse_pattern(entity)] if entity else [])) == expected


def test_without_a_store_the_groups_of_a_user_decide() -> None:
    names = names_of(SALES, store=None)
    assert told(names.unknown(["mary"], ["analysts"])) == []
    assert told(names.unknown(["mary"], [])) == ["user mary: "]


def test_where_nothing_of_a_kind_is_named_nothing_is_unknown() -> None:
    names = names_of([policy(1, {"namespace": "*"}, item("read", groups=["public"]))], store=None)
    assert names.unknown([], [], [parse_entity("dataset:any.thing")]) == ()


def test_what_an_operation_creates_need_not_be_known() -> None:
    names, entity = names_of(SALES), parse_entity("dataset:sales.new")
    rows = {verb: load_profile("default").operation(f"dataset.{verb}") for verb in ("create", "get")}
    assert names.unknown_in(rows["create"], "alice", (), entity, NOTHING_ELSE) == ()
    assert told(names.unknown_in(rows["get"], "alice", (), entity, NOTHING_ELSE)) == ["dataset sales.new: "]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=1, max_size=6), WORDS, WORDS)
def test_a_name_is_unknown_exactly_if_nothing_names_it(
    rows: list[tuple[str, str, str, str]], namespace: str, user: str
) -> None:
    """Of policies without wildcards: datasets, users and groups are known exactly where a policy has them."""
    policies = [
        policy(n, {"namespace": ns, "dataset": name}, item("read", users=[who], groups=[group]))
        for n, (ns, name, who, group) in enumerate(rows, 1)
    ]
    names = names_of(policies, store={})
    for ns, name, who, group in rows:
        entity = entity_id("dataset", (ns, name))
        assert names.unknown([who], [group], [entity, entity.parent or entity]) == ()
    (found,) = names.unknown([], [], [entity_id("namespace", (namespace,))]) or (None,)
    assert (found is None) is (namespace in {ns for ns, *_ in rows})
    assert found is None or set(found.nearest) <= {ns for ns, *_ in rows}
    known = {who for _, _, who, _ in rows} | {"olga", "cdap"}
    assert (not names.unknown([user], [])) is (user in known)


def test_entities_are_those_named_in_full() -> None:
    found = set(names_of(list(COMPANY)).entities())
    assert {"namespace:ns1", "dataset:ns1.kv", "dataset:ns1.both"} <= found
    assert not any("*" in one for one in found)
