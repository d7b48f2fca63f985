"""A Ranger in an older state than the ledger is no edit of people: what shows it, and what it makes of lives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.grant import CREATORS_LABEL, FORMER_LABEL, grant_guid
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of, guid_of
from spark_sync.grants.went_back import sentence, went_back
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.life import MANUAL_TERMS, RELEASED, Life, State
from tests.spark_sync.grants.fixtures import ALL, item, life, resource

NAMES = ("a", "b", "c")


def policy(name: str, id_: int, version: int, *, copy: int = 0, label: str = CREATORS_LABEL, **edit: Any) -> Policy:
    return Policy(
        id=id_,
        version=version,
        guid=grant_guid("cdap", EntityId("dataset", ("ns1", name)), 1, copy),
        resources=resource(namespace="ns1", dataset=name),
        policy_items=edit.pop("items", [item("alice", *ALL)]),
        policy_labels=[label],
        **edit,
    )


def of(name: str, state: State = State.APPLIED, id_: int = -1, version: int = -1, **fields: Any) -> Life:
    given = {"written": content_of(policy(name, 1, 1)), "applied": ALL} if id_ >= 0 else {}
    made = life(entity=EntityId("dataset", ("ns1", name)), state=state, policy_id=id_, policy_version=version)
    return replace(made, **given | fields)


A, B, C = of("a", id_=7, version=3), of("b", id_=8, version=1), of("c", id_=9, version=1)
TAKEN = {"taken": "taken", "reason": "taken"}
DISABLED = {"is_enabled": False}
SAME = [policy("a", 7, 3), policy("b", 8, 1), policy("c", 9, 1)]
UNPROVEN = "pending, to be revoked first"
CASES: dict[str, tuple[list[Life], list[Policy], dict[str, str] | None]] = {
    "as it was": ([A, B, C], SAME, None),
    "edited since": ([A, B, C], [policy("a", 7, 4, **DISABLED), *SAME[1:]], None),
    "one is gone, the newest": ([A, B, C], SAME[:2], None),
    "two are gone, but a newer one is there": ([A, B, C], SAME[2:], None),
    "the two newest are gone": ([A, B, C], SAME[:1], {"b": "pending", "c": "pending"}),
    "all are gone": ([A, B, C], [], {"a": "pending", "b": "pending", "c": "pending"}),
    "one of the two that are gone was taken before": (
        [A, replace(B, state=State.BLOCKED, **TAKEN), C], SAME[:1], None,
    ),
    "an older version with the same content": ([A, B], [policy("a", 7, 2), SAME[1]], {"a": "applied"}),
    "an older version that was disabled": ([A, B], [policy("a", 7, 2, **DISABLED), SAME[1]], {"a": UNPROVEN}),
    "an older version, and one is gone": ([A, B], [policy("a", 7, 2)], {"a": "applied", "b": "pending"}),
    "an older version, and an older one is gone": ([A, B], [policy("b", 8, 0)], {"b": "applied"}),
    "an older policy of the same guid": ([A], [policy("a", 5, 9, **DISABLED)], {"a": UNPROVEN}),
    "a newer policy of the same guid, as of an import": ([A], [policy("a", 70, 9, **DISABLED)], {"a": UNPROVEN}),
    "what a person took is there again": (
        [replace(A, state=State.BLOCKED, **TAKEN)], [policy("a", 7, 2)], {"a": f"{UNPROVEN}, taken"},
    ),
    "what a person took is given back": ([replace(A, state=State.BLOCKED, **TAKEN)], [policy("a", 7, 4)], None),
    "of a deleted entity": ([of("a", State.CLOSED, 7, 3)], SAME[:1], {"a": "closing, to be revoked first"}),
    "of a deleted entity, and one is gone": (
        [of("a", State.CLOSED, 7, 3), B], SAME[:1], {"a": "closing, to be revoked first", "b": "pending"},
    ),
    "with the guid of that of a deleted entity, and one is gone": (
        [of("a", State.CLOSED, 7, 3), B], [policy("a", 70, 1)], {"a": "closing, to be revoked first"},
    ),
    "of a deleted entity, left to people": ([of("a", State.CLOSED, 7, 3, reason=RELEASED)], SAME[:1], None),
    "of a deleted entity, released before": (
        [of("a", State.CLOSED, 7, 3, terms=MANUAL_TERMS, accesses=())], SAME[:1], None,
    ),
    "of a suspended one": ([of("a", State.SUSPENDED)], SAME[:1], {"a": "suspended, to be revoked first"}),
    "of one that is about to be revoked": ([of("a", State.SUSPENDED, 7, 3, revoke=True)], SAME[:1], None),
    "of a pending one, perhaps of a killed run": ([of("a", State.PENDING)], SAME[:1], None),
    "of a pending one, when another is older": (
        [of("a", State.PENDING), B], [SAME[0], policy("b", 8, 0)], {"a": UNPROVEN, "b": "applied"},
    ),
    "what was left of an edited one, as it was left": (
        [of("a", State.CLOSED, copy=1, version=4)], [policy("a", 7, 4, label=FORMER_LABEL)], None,
    ),
    "what was left of an edited one, as it was before": (
        [of("a", State.CLOSED, copy=1, version=4)], SAME[:1], {"a": "closing, to be revoked first"},
    ),
}  # fmt: skip


def _said(after: Life) -> str:
    named = [after.state.value, *["to be revoked first"] * after.is_from_backup, *["taken"] * bool(after.taken)]
    return ", ".join(named)


@pytest.mark.parametrize("name", CASES)
def test_what_only_a_restore_explains_is_healed_and_all_else_is_an_edit(name: str) -> None:
    lives, there, wanted = CASES[name]
    policies = {each.guid: each for each in there}
    healed = went_back([(each, policies.get(guid_of(each, "cdap"))) for each in lives], policies, "cdap")
    assert (healed and {before.entity.parts[-1]: _said(after) for before, after, _ in healed}) == wanted


def test_the_sentence_counts_what_is_revoked_and_what_is_written() -> None:
    assert sentence([LedgerChange(A, A), LedgerChange(replace(B, state=State.CLOSED), B), LedgerChange(C, C)]) == (
        "Ranger went back to an older state, as after a restore: 2 lost or older grants to write again,"
        " 1 ended or taken ones to revoke again"
    )
