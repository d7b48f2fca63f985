"""A creator's policy in an older form is brought up to date in place: one PUT, and no moment without the right."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from ranger_cdap.cdap.entity import EntityId
from spark_sync.grants.grant_policy import content_of, seen
from spark_sync.grants.plan import plan
from spark_sync.grants.plan_settings import plan_settings
from spark_sync.ledger.life import State
from tests.real_ranger.estate import Estate
from tests.real_ranger.ui_forms import POLICIES, item, new_policy
from tests.spark_sync.grants.fixtures import MemoryLedger, life, look_at, push_by

LEVELS = {"instance": ["cdap"], "namespace": ["ns1"], "dataset": ["kv"]}


def test_a_policy_that_lists_its_entity_once_and_not_as_now_is_updated_in_place(estate: Estate) -> None:
    estate.set_up()
    pending = life(estate.user("alice"), EntityId("dataset", ("ns1", "kv")))
    (step,) = plan([pending], plan_settings(estate.settings))
    older = msgspec.structs.replace(step.policy, additional_resources=[], name="creator of ns1.kv")  # type: ignore[union-attr]
    made = estate.admin.create_policy(older)
    of_ours = {"written": content_of(made), **seen(made), "applied": pending.accesses}
    granted = replace(pending, state=State.APPLIED, **of_ours)
    planning, ledger = plan_settings(estate.settings), MemoryLedger([granted])
    (changed,) = look_at(ledger, estate.admin, planning).changed
    ledger.record([changed])
    assert push_by(estate.settings, ledger).error is None
    (now,) = ledger.rows.values()
    after = estate.admin.policy_by_id(made.id or -1)
    assert after is not None
    assert (now.state, after.guid, after.version) == (State.APPLIED, made.guid, (made.version or 0) + 1)
    assert (after.name, after.additional_resources) == (step.policy.name, [after.resources])  # type: ignore[union-attr]
    # Another policy on exactly the entity can stand beside it from now on.
    beside = new_policy(estate.service, "theirs", LEVELS, policyItems=[item("read", users=[estate.user("bob")])])
    estate.done("POST", POLICIES, beside)
