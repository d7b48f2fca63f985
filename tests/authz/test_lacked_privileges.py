"""What CDAP asks in addition to an allowed operation and a user lacks; the recorded calls are the oracle."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.lacked_privileges import lacked_privileges
from ranger_cdap.cdap.additional_privileges import AdditionalPrivileges, additional_privileges
from ranger_cdap.cdap.checks.recorded_paths import RecordedPath, recorded_paths, unrecorded_checks
from ranger_cdap.cdap.context import Context
from ranger_cdap.cdap.enforcement import Enforcement, UnenforcedMode
from ranger_cdap.cdap.entity import EntityId, parse_entity, to_resource
from ranger_cdap.cdap.options import Options
from ranger_cdap.cdap.plan import plan
from ranger_cdap.cdap.profile import load_profile
from tests.authz.fixtures import Memory, authorizer, policy
from tests.cdap.checks.test_replay import RECORDED, Held, denied
from tests.cdap.test_additional_privileges import PATHS, about, asked, failing, least

DEPLOY = "application.deploy"
SHOP = parse_entity("application:ns1.shop")
KV = parse_entity("dataset:ns1.kv")
DEPLOYED = Context({"artifact": (parse_entity("artifact:ns1.shop"),), "datasets": (KV,)})
ROW = (
    policy(1, {"namespace": "ns1"}, ["alice"], ["write"]),
    policy(2, {"namespace": "ns1", "artifact": "shop"}, ["alice"], ["read"]),
)
ON_KV = {"namespace": "ns1", "dataset": "kv"}


def policies(held: Held) -> list[Any]:
    found = []
    for number, (person, action, entity) in enumerate(sorted(held, key=str), start=1):
        levels = to_resource(EntityId(entity.type, entity.parts), "cdap")
        found.append(policy(number, levels, [person], [action.lower()]))
    return found


def lacked(asking: Authorizer, operation: str, entity: EntityId, context: Context) -> AdditionalPrivileges:
    answer = asking.explain("alice", (), operation, entity, context=context)
    return lacked_privileges(asking.decider, answer, (), context)


def of_deployment(*more: Any, held: Iterable[Any] = ROW, **rules: Any) -> list[str]:
    found = lacked(authorizer([*held, *more], profile="003", **rules), DEPLOY, SHOP, DEPLOYED).alternatives
    return [f"{'|'.join(one.actions)} on {one.entity} by {one.person}" for one in (found[0] if found else ())]


OF_THE_PROFILE = [path for path in PATHS if path.operation in load_profile("003").rows]


@pytest.mark.parametrize("path", OF_THE_PROFILE, ids=lambda path: path.recorded)
def test_who_holds_only_the_row_lacks_what_needs_shows_and_nothing_after_a_grant(path: RecordedPath) -> None:
    entity, context = asked(path.recorded)
    profile = load_profile("003")
    row = profile.operation(path.operation)
    shown = additional_privileges(profile, row, entity, "alice", context).alternatives
    for needs, more in zip(plan(row, entity, "alice", context), shown, strict=True):
        held, memory = least(needs), Memory()
        asking = authorizer(policies(held), memory, profile="003", master="alice")
        assert least(lacked(asking, path.operation, entity, context).alternatives[0]) == least(more) - held
        assert memory.records == []

        granted = authorizer(policies(held | least(more)), profile="003", master="alice")
        assert lacked(granted, path.operation, entity, context).alternatives[0] == ()
        calls = RECORDED[path.recorded].calls
        assert denied(held | least(more), calls, about=about(entity, context), profile="003") == []


@given(st.data())
def test_nothing_is_lacked_exactly_if_every_recorded_check_passes(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(OF_THE_PROFILE))
    entity, context = asked(path.recorded)
    profile = load_profile("003")
    row = profile.operation(path.operation)
    number = data.draw(st.sampled_from(range(len(plan(row, entity, "alice", context)))))
    own = least(plan(row, entity, "alice", context)[number])
    more = sorted(least(additional_privileges(profile, row, entity, "alice", context).alternatives[number]), key=str)
    held = own.union(data.draw(st.sets(st.sampled_from(more))) if more else ())

    found = lacked(authorizer(policies(held), profile="003", master="alice"), path.operation, entity, context)
    is_impersonated = context.effective is not None
    fitting = [one for one in recorded_paths(row.name) if one.fits(context.related, impersonated=is_impersonated)]
    checks = failing(held, [*fitting, *unrecorded_checks(row.name)], entity, context, "003")
    assert (found.alternatives[0] == ()) == (checks == set())


DENIED = policy(3, ON_KV, ["bob"], ["read"], denyPolicyItems=[{"users": ["alice"], "accesses": [{"type": "read"}]}])
ON_NAMESPACE = policy(3, {"namespace": "ns1"}, ["alice"], ["read"])
LACKED = ["READ on dataset:ns1.kv by alice"]


@pytest.mark.parametrize(
    ("more", "rules", "expected"),
    [
        ((), {}, LACKED),
        ((policy(3, ON_KV, ["alice"], ["read"]),), {}, []),
        ((policy(3, ON_KV, ["bob"], ["read"]),), {}, LACKED),
        ((ON_NAMESPACE,), {}, LACKED),
        ((ON_NAMESPACE,), {"options": Options(inherit=True)}, []),
        ((ON_NAMESPACE, {**DENIED, "id": 4}), {"options": Options(inherit=True)}, LACKED),
        ((), {"enforcement": Enforcement(frozenset({DEPLOY}), frozenset(), UnenforcedMode.REPORT)}, []),
        ((), {"enforcement": Enforcement(frozenset({"dataset.get"}), frozenset(), UnenforcedMode.REPORT)}, []),
    ],
)
def test_only_what_the_policies_in_effect_do_not_give_is_lacked(
    more: tuple[Any, ...], rules: dict[str, Any], expected: list[str]
) -> None:
    assert of_deployment(*more, **rules) == expected


def test_an_operation_that_is_denied_or_cannot_be_decided_lacks_nothing_more() -> None:
    assert of_deployment(held=ROW[:1]) == []
    nothing = lacked(authorizer(None, profile="003"), DEPLOY, SHOP, DEPLOYED)
    assert (nothing.alternatives, nothing.recorded) == ((), ())
