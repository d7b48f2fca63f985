"""A Ranger in the state of a backup: what had ended or was taken ends again, and what is lost is written again.

A real Ranger Admin cannot be restored by REST, so its policies are brought to that state one by one, with their guids.
"""

from __future__ import annotations

from ranger_cdap.cdap.entity import EntityId
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.ledger.life import State
from tests.real_ranger.estate import Estate, Json
from tests.real_ranger.ui_forms import POLICIES, saved_policy
from tests.spark_sync.grants.fixtures import MemoryLedger, gone, life, look_at, push_by

SALES, SHOP, LAB = (EntityId("namespace", (name,)) for name in ("sales", "shop", "lab"))


def run(estate: Estate, ledger: MemoryLedger) -> str:
    """A run, as far as it concerns Ranger; what it says of a restore."""
    changed, went_back = look_at(ledger, estate.admin, plan_settings(estate.settings))
    ledger.record(changed)
    assert push_by(estate.settings, ledger).error is None
    return went_back


def restore(estate: Estate, backup: list[Json]) -> None:
    """Bring the policies of the service to the state of a backup."""
    there = {policy["guid"]: policy for policy in estate.admin.policy_documents(estate.service)}
    for guid in there.keys() - {policy["guid"] for policy in backup}:
        estate.done("DELETE", f"{POLICIES}/{there[guid]['id']}")
    for policy in backup:
        if policy["guid"] not in there:
            estate.admin.create_policy_document({key: policy[key] for key in policy.keys() - {"id", "version"}})


def test_a_restore_gives_no_former_creator_a_right_and_takes_none_from_later_ones(estate: Estate) -> None:
    estate.set_up()
    nina, zoe = (estate.user(who) for who in ("nina", "zoe"))
    ledger = MemoryLedger([life(nina, SALES), life(nina, LAB)])
    assert run(estate, ledger) == ""
    backup = estate.admin.policy_documents(estate.service)

    lab = ledger.rows[LAB, 1]
    read = estate.done("GET", f"{POLICIES}/{lab.policy_id}")
    estate.done("PUT", f"{POLICIES}/{lab.policy_id}", saved_policy(read, isEnabled=False))
    assert run(estate, ledger) == ""
    estate.done("DELETE", f"{POLICIES}/{lab.policy_id}")
    ledger.rows[SALES, 1] = gone(ledger.rows[SALES, 1])
    ledger.rows[SALES, 2], ledger.rows[SHOP, 1] = life(zoe, SALES, number=2), life(zoe, SHOP)
    assert run(estate, ledger) == ""
    with estate.plugin() as plugin:

        def rights() -> list[tuple[str, str]]:
            return [
                (who, space.parts[0])
                for who in (nina, zoe)
                for space in (SALES, SHOP, LAB)
                if estate.may(plugin, who, "read", namespace=space.parts[0])
            ]

        assert rights() == [(zoe, "sales"), (zoe, "shop")]
        restore(estate, backup)
        assert rights() == [(nina, "sales"), (nina, "lab")]
        assert run(estate, ledger).startswith("Ranger went back to an older state")
        assert rights() == [(zoe, "sales"), (zoe, "shop")]
        assert run(estate, ledger) == ""
    assert ledger.rows[LAB, 1].state is State.BLOCKED
