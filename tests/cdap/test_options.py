"""What the comments of document 003 discuss: each option allows or shows what it says, and nothing without it."""

import pytest

from ranger_cdap.cdap.answer import compose
from ranger_cdap.cdap.entity import parse_entity
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.profile import load_profile
from tests.cdap.fixtures import granted

KV = "dataset:ns1.kv"

# Option, profile, operation, entity, privileges of ann, allowed without the option, allowed with it.
CASES = [
    # WRITE or ADMIN shows details, only READ shows data (S003-C3).
    ("view_details", "002", "dataset.get", KV, ["WRITE dataset:ns1.kv"], False, True),
    ("view_details", "002", "dataset.get", KV, ["ADMIN dataset:ns1.kv"], False, True),
    ("view_details", "002", "dataset.get", KV, ["READ dataset:ns1.kv"], True, True),
    ("view_details", "002", "dataset.get", KV, ["EXECUTE dataset:ns1.kv"], False, False),
    ("view_details", "003", "dataset.get", KV, ["ADMIN dataset:ns1.kv"], False, True),
    ("view_details", "003", "profile.get", "profile:ns1.p", ["ADMIN profile:ns1.p"], False, False),
    ("view_details", "003", "profile.get", "profile:ns1.p", ["ADMIN profile:ns1.p", "READ namespace:ns1"], False, True),
    (
        "view_details",
        "003",
        "profile.get",
        "profile:ns1.p",
        ["READ profile:ns1.p", "ADMIN namespace:ns1"],
        False,
        False,
    ),
    (
        "view_details",
        "002",
        "program.get_status",
        "program:ns1.A.spark.S",
        ["ADMIN program:ns1.A.spark.S"],
        False,
        True,
    ),
    ("view_details", "default", "dataset.read", KV, ["WRITE|ADMIN dataset:ns1.kv"], False, False),
    ("view_details", "default", "stream.read_events", "stream:ns1.s", ["WRITE|ADMIN stream:ns1.s"], False, False),
    ("view_details", "002", "secure_key.get", "secure_key:ns1.k", ["WRITE|ADMIN secure_key:ns1.k"], False, False),
    (
        "view_details",
        "002",
        "program.view_logs",
        "program:ns1.A.spark.S",
        ["ADMIN program:ns1.A.spark.S"],
        False,
        False,
    ),
    ("view_details", "002", "dataset.truncate", KV, ["READ|WRITE dataset:ns1.kv"], False, False),
    # A privilege on a parent counts for what is below, but lists nothing (S003-C1.2.1).
    ("inherit", "002", "dataset.get", KV, ["READ namespace:ns1"], False, True),
    ("inherit", "002", "dataset.get", KV, ["READ instance:"], False, True),
    ("inherit", "002", "dataset.get", KV, ["ADMIN namespace:ns1"], False, False),
    ("inherit", "002", "dataset.get", KV, ["READ namespace:ns2"], False, False),
    ("inherit", "002", "dataset.truncate", KV, ["ADMIN namespace:ns1"], False, True),
    ("inherit", "002", "program.start", "program:ns1.A.spark.S", ["EXECUTE application:ns1.A"], False, False),
    ("inherit", "002", "program.get_status", "program:ns1.A.spark.S", ["READ application:ns1.A"], False, True),
    ("inherit", "002", "dataset.list", KV, ["READ|WRITE|ADMIN namespace:ns1"], False, False),
    ("inherit", "000", "dataset.list", KV, ["READ instance:"], False, False),
    # One of the three on the parent lists everything below (S003-C1.1).
    ("list_by_parent", "003", "dataset.list", KV, ["WRITE namespace:ns1"], False, True),
    ("list_by_parent", "003", "dataset.list", KV, ["EXECUTE namespace:ns1"], False, False),
    ("list_by_parent", "003", "dataset.list", KV, ["READ dataset:ns1.kv"], True, False),
    ("list_by_parent", "003", "namespace.list", "namespace:ns1", ["ADMIN instance:"], False, True),
    ("list_by_parent", "003", "program.list", "program:ns1.A.spark.S", ["READ application:ns1.A"], False, True),
    ("list_by_parent", "000", "dataset.list", KV, ["ADMIN namespace:ns1"], False, True),
    ("list_by_parent", "001", "stream_view.list", "stream_view:ns1.s.v", ["WRITE namespace:ns1"], False, False),
    ("list_by_parent", "003", "dataset.get", KV, ["READ namespace:ns1"], False, False),
    # Only what one has some privilege on, or on something below it, is listed (S003-C1).
    ("visible_only", "000", "dataset.list", KV, ["READ namespace:ns1"], True, False),
    ("visible_only", "000", "dataset.list", KV, ["READ namespace:ns1", "EXECUTE dataset:ns1.kv"], True, True),
    ("visible_only", "000", "dataset.list", KV, ["READ namespace:ns1", "READ dataset:ns1.other"], True, False),
    ("visible_only", "000", "dataset.list", KV, ["READ dataset:ns1.kv"], False, False),
    ("visible_only", "000", "namespace.list", "namespace:ns1", ["READ instance:", "READ dataset:ns1.kv"], True, True),
    ("visible_only", "000", "namespace.list", "namespace:ns2", ["READ instance:", "READ dataset:ns1.kv"], True, False),
    ("visible_only", "003", "dataset.list", KV, ["EXECUTE dataset:ns1.kv"], False, False),
    ("visible_only", "003", "dataset.list", KV, ["WRITE dataset:ns1.kv"], True, True),
]


@pytest.mark.parametrize(("option", "profile", "operation", "entity", "held", "before", "after"), CASES)
def test_an_option_changes_what_it_says(
    option: str, profile: str, operation: str, entity: str, held: list[str], before: bool, after: bool
) -> None:
    row = load_profile(profile).operation(operation)
    ask = granted(*(f"ann {privilege}" for privilege in held))
    asked = parse_entity(entity)

    assert compose(row, asked, "ann", ask).allowed is before
    assert compose(row, asked, "ann", ask, options=Options(**{option: True})).allowed is after


def test_what_is_denied_below_is_not_inherited_from_above() -> None:
    row = load_profile("002").operation("dataset.get")
    ask = granted("ann READ namespace:ns1", denied=["ann READ dataset:ns1.secret*"])

    def answer(entity: str) -> bool:
        return compose(row, parse_entity(entity), "ann", ask, options=Options(inherit=True)).allowed

    assert answer("dataset:ns1.open")
    assert not answer("dataset:ns1.secret1")


def test_a_list_by_the_parent_that_shows_only_the_visible_asks_both() -> None:
    row = load_profile("003").operation("dataset.list")
    both = Options(list_by_parent=True, visible_only=True)

    def listed(*held: str) -> bool:
        return compose(row, parse_entity(KV), "ann", granted(*held), options=both).allowed

    assert listed("ann WRITE namespace:ns1", "ann EXECUTE dataset:ns1.kv")
    assert not listed("ann WRITE namespace:ns1")
    assert not listed("ann READ dataset:ns1.kv")
