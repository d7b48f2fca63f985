"""What CDAP lists: `AccessEnforcer.visible` decides each entity by the profile's row for listing its type."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.authz.enforcer import AccessEnforcer
from ranger_cdap.cdap.answer import compose
from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode
from ranger_cdap.cdap.entity import EntityId, parse_entity
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.profile import load_profile, profile_names
from tests.authz.fixtures import Json, authorizer
from tests.cdap.fixtures import granted, resources

CDAP = {
    "namespace:ns1": ("NAMESPACE", ("ns1",)),
    "namespace:ns2": ("NAMESPACE", ("ns2",)),
    "application:ns1.Shop": ("APPLICATION", ("ns1", "Shop", "-SNAPSHOT")),
    "program:ns1.Shop.spark.S": ("PROGRAMREFERENCE", ("ns1", "Shop", "spark", "S")),
    "schedule:ns1.Shop.daily": ("SCHEDULE", ("ns1", "Shop", "daily")),
    "artifact:ns1.lib": ("ARTIFACT", ("ns1", "lib", "1.0.0")),
    "dataset:ns1.kv": ("DATASET", ("ns1", "kv")),
    "dataset:ns1.other": ("DATASET", ("ns1", "other")),
    "stream_view:ns1.s.v": ("STREAM_VIEW", ("ns1", "s", "v")),
    "principal:svc": ("KERBEROSPRINCIPAL", ("svc",)),
    "system_service:appfabric": ("SYSTEM_SERVICE", ("appfabric",)),
}
PLACES = [*CDAP, "instance:", "stream:ns1.s"]


def policies(*privileges: str) -> list[Json]:
    """One policy for each entity: `READ|WRITE dataset:ns1.kv`, of ann."""
    split = [text.partition(" ") for text in privileges]
    return [
        {
            "id": number,
            "version": 1,
            "name": str(number),
            "resources": resources(entity),
            "policyItems": [
                {
                    "users": ["ann"],
                    "accesses": [{"type": a.lower()} for text, _, on in split if on == entity for a in text.split("|")],
                }
            ],
        }
        for number, entity in enumerate(dict.fromkeys(entity for _, _, entity in split), 1)
    ]


def shown(profile: str, options: Options, *privileges: str) -> list[str]:
    asked = AccessEnforcer(authorizer(policies(*privileges), profile=profile, options=options))
    of_each = asked.visible("ann", list(CDAP.values())).of_each
    return [entity for entity, visible in zip(CDAP, of_each, strict=True) if visible]


BY_PARENT = Options(list_by_parent=True)

# Profile, options, the privileges of ann -> what she is shown
CASES = [
    # 000 and 001 list by READ on the parent, and show all in it.
    (
        "000",
        Options(),
        ["READ instance:"],
        ["namespace:ns1", "namespace:ns2", "principal:svc", "system_service:appfabric"],
    ),
    ("000", Options(), ["READ application:ns1.Shop"], ["program:ns1.Shop.spark.S", "schedule:ns1.Shop.daily"]),
    ("000", Options(), ["READ dataset:ns1.kv"], []),
    (
        "001",
        Options(),
        ["READ namespace:ns1", "READ stream:ns1.s"],
        [
            "application:ns1.Shop",
            "program:ns1.Shop.spark.S",
            "artifact:ns1.lib",
            "dataset:ns1.kv",
            "dataset:ns1.other",
            "stream_view:ns1.s.v",
        ],
    ),
    # 002 and 003 list by READ, WRITE or ADMIN on each.
    ("003", Options(), ["EXECUTE program:ns1.Shop.spark.S", "WRITE dataset:ns1.kv"], ["dataset:ns1.kv"]),
    ("003", Options(), ["READ namespace:ns1"], ["namespace:ns1"]),
    (
        "002",
        Options(),
        ["ADMIN dataset:ns1.other", "READ instance:"],
        ["principal:svc", "system_service:appfabric", "dataset:ns1.other"],
    ),
    # In 004 any privilege on an artifact is enough to deploy from it.
    ("003", Options(), ["EXECUTE artifact:ns1.lib"], []),
    ("004", Options(), ["EXECUTE artifact:ns1.lib"], ["artifact:ns1.lib"]),
    # Options.
    (
        "003",
        BY_PARENT,
        ["WRITE namespace:ns1", "READ dataset:ns1.kv"],
        [
            "application:ns1.Shop",
            "artifact:ns1.lib",
            "dataset:ns1.kv",
            "dataset:ns1.other",
        ],
    ),
    ("003", BY_PARENT, ["READ dataset:ns1.kv"], []),
    ("000", Options(visible_only=True), ["READ instance:", "EXECUTE dataset:ns1.kv"], ["namespace:ns1"]),
]


@pytest.mark.parametrize(("profile", "options", "privileges", "wanted"), CASES)
def test_a_list_shows_what_the_row_of_the_profile_shows(
    profile: str, options: Options, privileges: list[str], wanted: list[str]
) -> None:
    assert sorted(shown(profile, options, *privileges)) == sorted(wanted)


HELD = st.lists(
    st.tuples(st.sampled_from(["READ", "WRITE", "ADMIN", "EXECUTE"]), st.sampled_from(PLACES)), unique=True, max_size=6
)


@given(
    profile=st.sampled_from(profile_names()),
    options=st.builds(Options, *[st.booleans()] * 4),
    held=HELD,
    outside=st.none() | st.sampled_from([frozenset({"dataset", "namespace"}), frozenset({"application", "program"})]),
)
def test_visible_agrees_with_the_row_for_listing(
    profile: str, options: Options, held: list[tuple[str, str]], outside: frozenset[str] | None
) -> None:
    privileges = [f"{action} {entity}" for action, entity in held]
    ask = granted(*(f"ann {privilege}" for privilege in privileges))
    limits = Enforcement(None, outside, UnenforcedMode.DENY)
    asked = AccessEnforcer(authorizer(policies(*privileges), profile=profile, options=options, enforcement=limits))

    def listed(entity: EntityId) -> bool:
        row = load_profile(profile).operation(f"{entity.type}.list")
        enforced = outside is None or entity.type in outside
        return enforced and compose(row, entity, "ann", ask, options=options).allowed

    assert asked.visible("ann", list(CDAP.values())).of_each == [listed(parse_entity(text)) for text in CDAP]
