"""The allow-list of grants: what passes reaches exactly one user on one entity."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ranger_cdap.cdap.entity import EntityId, entity_types
from ranger_cdap.cdap.grant import ACCESS_TYPES, check_grantee, grant_for
from ranger_cdap.errors import UnsafeGrant

ALL = ACCESS_TYPES
NOBODY: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("entity", "resource"),
    [
        (EntityId("namespace", ("ns1",)), {"instance": "cdap", "namespace": "ns1"}),
        (
            EntityId("dataset", ("ns1", "a.b$c-d_e")),
            {"instance": "cdap", "namespace": "ns1", "dataset": "a.b$c-d_e"},
        ),
        (
            EntityId("application", ("ns1", "App")),
            {"instance": "cdap", "namespace": "ns1", "application": "App", "program": "*"},
        ),
        (
            EntityId("schedule", ("ns1", "App", "daily")),
            {"instance": "cdap", "namespace": "ns1", "application": "App", "schedule": "daily"},
        ),
    ],
    ids=str,
)
def test_a_grant_names_every_parent_and_one_value_a_level(entity: EntityId, resource: dict[str, str]) -> None:
    granted = grant_for(entity, "alice", "cdap", ALL, non_creators=NOBODY)
    assert granted.resource == resource
    assert (granted.user, granted.accesses) == ("alice", ALL)


def test_access_types_come_in_one_order() -> None:
    granted = grant_for(EntityId("namespace", ("n",)), "alice", "cdap", ("execute", "read"), non_creators=NOBODY)
    assert granted.accesses == ("read", "execute")


@pytest.mark.parametrize(
    "user",
    [
        *(
            "",
            " ",
            " alice",
            "alice\n",
            "{USER}",
            "{OWNER}",
            "public",
            "Public",
            "*",
            "a?",
            "a,b",
            "a\\b",
            "a{b",
            "a}b",
        ),
        *("a\x00b", "a\tb", "a\u200bb", "a\u2028b", "root", "cdap"),
    ],
    ids=ascii,
)
def test_refused_grantees(user: str) -> None:
    with pytest.raises(UnsafeGrant):
        check_grantee(user, non_creators=("root", "cdap"))


@pytest.mark.parametrize(
    "user", ["alice", "Alice", "alice@EXAMPLE.COM", "svc/host@EXAMPLE.COM", "åsa", "a b", "publicist"]
)
def test_accepted_grantees(user: str) -> None:
    check_grantee(user, non_creators=("root", "cdap"))


@pytest.mark.parametrize(
    "entity",
    [
        EntityId("dataset", ("ns1", "*")),
        EntityId("dataset", ("ns1", "a?")),
        EntityId("dataset", ("ns1", "{OWNER}")),
        EntityId("dataset", ("ns1", "a,b")),
        EntityId("dataset", ("ns1", "")),
        EntityId("dataset", ("ns1", "a\n")),
        EntityId("dataset", ("ns1", "dätä")),
        EntityId("dataset", ("ns1",)),
        EntityId("dataset", ("*", "purchases")),
        EntityId("secure_key", ("ns1", "UPPER")),
        EntityId("instance", ()),
        EntityId("planet", ("ns1", "x")),
    ],
    ids=ascii,
)
def test_refused_entities(entity: EntityId) -> None:
    with pytest.raises(UnsafeGrant):
        grant_for(entity, "alice", "cdap", ALL, non_creators=NOBODY)


@pytest.mark.parametrize("actions", [(), ("all",), ("_ALL",), ("READ",), ("read", "delete")])
def test_refused_actions(actions: tuple[str, ...]) -> None:
    with pytest.raises(UnsafeGrant):
        grant_for(EntityId("namespace", ("ns1",)), "alice", "cdap", actions, non_creators=NOBODY)


@pytest.mark.parametrize("instance", ["", "*", "a,b", "{OWNER}", "cdap\n"])
def test_refused_instances(instance: str) -> None:
    with pytest.raises(UnsafeGrant):
        grant_for(EntityId("namespace", ("ns1",)), "alice", instance, ALL, non_creators=NOBODY)


NAMES = st.sampled_from(["a", "aB9", "a-b", "a_b"])
NEAR_MISSES = st.text(st.sampled_from("ab.*?,{}\\$-_/@ \n\u200bäA9"), max_size=3) | st.text(max_size=3)


@st.composite
def nearly_good(draw: st.DrawFn) -> tuple[EntityId, str]:
    """An entity and a user, most parts of which a grant may have."""
    kind = draw(st.sampled_from(sorted(entity_types())))
    parts = [draw(NAMES | NAMES | NAMES | NEAR_MISSES) for _ in entity_types()[kind].path[1:]]
    return EntityId(kind, tuple(parts)), draw(
        NAMES | NAMES | NAMES | NEAR_MISSES | st.sampled_from(["{USER}", "public", "root"])
    )


def test_whatever_is_asked_for_what_passes_matches_nothing_but_itself() -> None:
    passed = 0

    @given(nearly_good())
    def holds(asked: tuple[EntityId, str]) -> None:
        nonlocal passed
        entity, user = asked
        try:
            granted = grant_for(entity, user, "cdap", ALL, non_creators=("root",))
        except UnsafeGrant:
            return
        passed += 1
        assert granted.user == user
        assert not set(user) & set(",{}*?\\\n\u200b")
        assert user not in ("", "public", "root")
        levels = dict(granted.resource)
        if entity.type == "application":
            assert levels.pop("program") == "*"
        assert list(levels) == list(entity_types()[entity.type].path)
        for value in levels.values():
            assert value
            assert value.isascii()
            assert not set(value) & set("*?,{}\\ \n")

    for special in ",{}*?\\\n\u200b":
        holds = example((EntityId("namespace", ("ns1",)), f"a{special}"))(holds)
    holds()
    assert passed
