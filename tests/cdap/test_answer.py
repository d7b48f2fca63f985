"""Composing answers: alternatives hold or fail whole, and a denial names what is missing."""

import pytest

from ranger_cdap.cdap.answer import Ask, compose
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.entity import EntityId, parse_entity
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.profile import load_profile
from ranger_cdap.engine import Decision
from ranger_cdap.errors import InvalidInput


def holding(*held: str, determined: bool = True) -> Ask:
    """Ranger's decisions for a person who has exactly these privileges, like `READ dataset:ns1.kv`."""

    def ask(person: str, entity: EntityId, action: str) -> Decision:
        allowed = f"{action} {entity}" in held
        return Decision(
            allowed=allowed,
            determined=determined,
            policy_id=7 if allowed else -1,
            policy_version=1 if allowed else -1,
        )

    return ask


# operation, entity, related, privileges held, allowed, what is missing
CASES = [
    ("dataset.get", "dataset:ns1.kv", {}, ["READ dataset:ns1.kv"], True, []),
    ("dataset.get", "dataset:ns1.kv", {}, ["READ namespace:ns1"], False, ["ann needs READ on dataset:ns1.kv"]),
    (
        "secure_key.get",
        "secure_key:ns1.k",
        {},
        [],
        False,
        ["ann needs READ on secure_key:ns1.k", "ann needs READ on namespace:ns1"],
    ),
    ("dataset.list", "dataset:ns1.kv", {}, ["ADMIN dataset:ns1.kv"], True, []),
    (
        "dataset.list",
        "dataset:ns1.kv",
        {},
        ["EXECUTE dataset:ns1.kv"],
        False,
        ["ann needs READ or WRITE or ADMIN on dataset:ns1.kv"],
    ),
    ("dataset.create", "dataset:ns1.new", {}, ["WRITE namespace:ns1"], True, []),
    ("dataset.create", "dataset:ns1.new", {}, ["ADMIN dataset:ns1.new"], True, []),
    ("dataset.create", "dataset:ns1.new", {}, ["WRITE dataset:ns1.new"], False, ["ann needs WRITE on namespace:ns1"]),
    ("application.deploy", "application:ns1.Shop", {}, ["WRITE namespace:ns1"], True, []),
    (
        "application.deploy",
        "application:ns1.Shop",
        {"artifact": "artifact:ns1.shop"},
        ["WRITE namespace:ns1"],
        False,
        ["ann needs READ on artifact:ns1.shop"],
    ),
    (
        "application.deploy",
        "application:ns1.Shop",
        {"artifact": "artifact:ns1.shop"},
        ["ADMIN application:ns1.Shop", "EXECUTE artifact:ns1.shop"],
        True,
        [],
    ),
    # Half of one alternative and half of another make nothing.
    (
        "application.deploy",
        "application:ns1.Shop",
        {"artifact": "artifact:ns1.shop"},
        ["ADMIN application:ns1.Shop"],
        False,
        ["ann needs READ or WRITE or ADMIN or EXECUTE on artifact:ns1.shop"],
    ),
    # ADMIN on the application counts only together with what it is made from, so it must be named.
    (
        "application.deploy",
        "application:ns1.Shop",
        {},
        ["ADMIN application:ns1.Shop"],
        False,
        ["ann needs WRITE on namespace:ns1"],
    ),
    (
        "application.deploy",
        "application:ns1.Shop",
        {"jar": "artifact:ns1.shop"},
        ["ADMIN application:ns1.Shop", "ADMIN artifact:ns1.shop"],
        True,
        [],
    ),
    ("namespace.create", "namespace:new", {}, ["WRITE instance:"], True, []),
    ("secure_key.create", "secure_key:ns1.k", {}, ["WRITE namespace:ns1"], True, []),
    (
        "program.start",
        "program:ns1.Shop.service.S",
        {},
        ["EXECUTE program:ns1.Shop.service.S"],
        False,
        ["ann needs READ on namespace:ns1"],
    ),
]


@pytest.mark.parametrize(("operation", "entity", "related", "held", "allowed", "missing"), CASES)
def test_an_operation_is_allowed_by_a_whole_alternative(
    operation: str, entity: str, related: dict[str, str], held: list[str], allowed: bool, missing: list[str]
) -> None:
    row = load_profile("default").operation(operation)
    others = Context({role: (parse_entity(text),) for role, text in related.items()})

    answer = compose(row, parse_entity(entity), "ann", holding(*held), others)

    assert answer.allowed is allowed
    assert [str(m) for m in answer.missing] == missing


def test_what_is_not_determined_is_denied() -> None:
    row = load_profile("default").operation("dataset.drop")

    answer = compose(row, parse_entity("dataset:ns1.kv"), "ann", holding("ADMIN dataset:ns1.kv", determined=False))

    assert not answer.allowed


def test_an_operation_is_not_asked_about_another_type_of_entity() -> None:
    row = load_profile("default").operation("dataset.drop")

    with pytest.raises(InvalidInput, match="applies to a dataset"):
        compose(row, parse_entity("namespace:ns1"), "ann", holding())


def test_all_alternatives_that_can_hold_are_reported_as_tried() -> None:
    row = load_profile("default").operation("dataset.create")

    answer = compose(row, parse_entity("dataset:ns1.kv"), "ann", holding())

    assert [[e.action for e in tried] for tried in answer.alternatives] == [["WRITE"], ["ADMIN"]]
    assert answer.policy_ids == ()


def test_a_denial_says_who_lacks_what_and_in_which_capacity() -> None:
    row = load_profile("004").operation("application.deploy")
    context = Context(
        {
            "jar": (parse_entity("artifact:ns1.shop"),),
            "principal": (parse_entity("principal:svc/host@EXAMPLE.COM"),),
            "datasets": (parse_entity("dataset:ns1.kv"),),
        }
    )
    held = holding("ADMIN application:ns1.Shop", "ADMIN artifact:ns1.shop")

    answer = compose(row, parse_entity("application:ns1.Shop"), "ann", held, context)

    assert answer.reason == (
        "ann needs ADMIN on principal:svc/host@EXAMPLE.COM; svc (the impersonated user) needs ADMIN on dataset:ns1.kv"
    )


@pytest.mark.parametrize(
    ("impersonated", "said"),
    [(None, "`artifact` or `jar`"), ("svc", "`artifact` and `principal` or `jar` and `principal`")],
)
def test_what_can_not_be_decided_is_denied_and_says_what_to_name(impersonated: str | None, said: str) -> None:
    row = load_profile("004").operation("application.deploy")
    everything = holding("ADMIN application:ns1.Shop", "WRITE namespace:ns1")

    answer = compose(row, parse_entity("application:ns1.Shop"), "ann", everything, Context(impersonated=impersonated))

    assert not answer.allowed
    assert answer.reason == f"`application.deploy` cannot be decided without an entity for {said}"


def test_what_is_above_a_security_zone_counts_for_nothing_in_it() -> None:
    row = load_profile("002").operation("dataset.get")

    def ask(person: str, entity: EntityId, action: str) -> Decision:
        if entity.type == "dataset":
            return Decision(allowed=False, determined=True, zone="finance")
        return Decision(allowed=True, determined=True, policy_id=7, policy_version=1)

    answer = compose(row, parse_entity("dataset:ns1.kv"), "ann", ask, options=Options(inherit=True))

    assert not answer.allowed
