"""What people do in Ranger's form to a creator's policy: the right lasts as long as the entity, and no longer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import is_creators_policy
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.ledger.life import State
from tests.real_ranger.estate import Estate, Json
from tests.real_ranger.ui_forms import POLICIES, item, saved_policy
from tests.spark_sync.grants.fixtures import MemoryLedger, gone, life, look_at, push_by

SALES = EntityId("namespace", ("sales",))
OTHER = {"instance": {"values": ["cdap"]}, "namespace": {"values": ["other"]}}


def look_and_push(estate: Estate, ledger: MemoryLedger) -> None:
    """A run, as far as it concerns Ranger."""
    planning = plan_settings(estate.settings)
    seen = look_at(ledger, estate.admin, planning).changed
    ledger.record(seen)
    assert push_by(estate.settings, ledger).error is None


Edit = Callable[[Estate, Json], Json]
EDITS: dict[str, tuple[tuple[Edit, ...], bool]] = {
    "opened and saved": ((lambda estate, policy: {},), False),
    "widened to bob": (
        (lambda estate, policy: {"policyItems": [_with_bob(estate, one) for one in policy["policyItems"]]},),
        True,
    ),
    "with an item for bob": (
        (lambda estate, policy: {"policyItems": [*policy["policyItems"], item("read", users=[estate.name("bob")])]},),
        True,
    ),
    "renamed": ((lambda estate, policy: {"name": "of sales", "description": "ours now"},), False),
    "listing the entity once": ((lambda estate, policy: {"additionalResources": []},), False),
    "disabled and enabled": (
        (lambda estate, policy: {"isEnabled": False}, lambda estate, policy: {"isEnabled": True}),
        False,
    ),
    "moved elsewhere": ((lambda estate, policy: {"resources": OTHER, "additionalResources": [OTHER]},), False),
}


def _with_bob(estate: Estate, one: Json) -> Json:
    return {**one, "users": [*one["users"], estate.name("bob")]}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_right_lasts_until_the_entity_ends_and_the_next_creator_has_theirs(estate: Estate, name: str) -> None:
    edits, shares = EDITS[name]
    estate.set_up()
    nina, zoe, bob = (estate.user(who) for who in ("nina", "zoe", "bob"))
    ledger = MemoryLedger([life(nina, SALES)])
    look_and_push(estate, ledger)
    (ours,) = filter(is_creators_policy, estate.admin.policy_documents(estate.service))
    with estate.plugin() as plugin:

        def may() -> list[str]:
            return [who for who in (nina, zoe, bob) if estate.may(plugin, who, "read", namespace="sales")]

        for edit in edits:
            read = estate.done("GET", f"{POLICIES}/{ours['id']}")
            estate.done("PUT", f"{POLICIES}/{ours['id']}", saved_policy(read, **edit(estate, read)))
            look_and_push(estate, ledger)
        assert may() == [nina, *[bob] * shares]
        (first,) = ledger.rows.values()
        ledger.rows[SALES, 1], ledger.rows[SALES, 2] = gone(first), life(zoe, SALES, number=2)
        look_and_push(estate, ledger)
        assert may() == [zoe, *[bob] * shares]
        assert {one.state for one in ledger.rows.values()} == {State.CLOSED, State.APPLIED}
