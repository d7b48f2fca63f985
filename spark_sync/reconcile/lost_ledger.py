"""A ledger that went back: Ranger has policies of ours that it does not know, and what it has pending may be over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ranger_cdap.cdap.grant import FORMER_LABEL
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import as_copy, content_of, guid_of, may_be_ours, seen
from spark_sync.grants.own_right import given
from spark_sync.grants.plan import WITHOUT_GRANT
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.ledger_version import lost
from spark_sync.ledger.life import DOUBTED_STATES, RELEASED, Life, State
from spark_sync.reconcile.drift import named_entity, unrecorded

if TYPE_CHECKING:
    from spark_sync.ledger.delta_ledger import DeltaLedger

FORGOTTEN = "the ledger went back while this was undecided, so its creator is unknown"


def compare(ledger: DeltaLedger, policies: Sequence[Policy], instance: str) -> None:
    """Compare a ledger that has read everything with Ranger, before anything is sent.

    Only a newer ledger had a later life of an entity than this one knows, or a grant of one that an inventory alone
    found here. Where it had sent the policy of a life that is over, or in doubt, for this one, that is to be revoked
    again; where it had sent another creator's grant for one, which was a life before that this one cannot tell, ours
    replaces it.

    Raises:
        LedgerLost: Ranger has a policy of such a life; what was undecided is forgotten.
    """
    there = {policy.guid for policy in policies}
    granted = (life for page in ledger.pages_with_grants() for life in page if life.state not in DOUBTED_STATES)
    known = {guid: life for life in granted if (guid := guid_of(life, instance)) in there}
    earlier = ((life, policy) for policy in policies if (life := known.get(policy.guid)))
    ledger.record(
        LedgerChange(life, replace(life, written=content_of(policy), **seen(policy)), policy)
        for life, policy in earlier
        if _is_of_another(policy, life)
    )
    rest = [policy for policy in policies if may_be_ours(policy) and policy.guid not in known]
    entities = {entity for policy in rest if (entity := named_entity(policy, instance))}
    if not entities:
        return
    # One that is unconfirmed never had a policy.
    lives = [life for life in ledger.find_lives(entities=entities) if life.state is not State.UNCONFIRMED]
    newest = {life.entity: life.number for life in lives}
    ours = {policy.guid: policy for policy in rest if FORMER_LABEL not in policy.policy_labels}
    held = [
        (policy, life)
        for life in lives
        if (policy := ours.get(guid_of(life, instance))) and not (life.written or life.is_left_to_people)
    ]
    later = ((policy, life) for policy, life in unrecorded(lives, rest, instance) if life)
    newer = [
        *((policy, life) for policy, life in later if life.number > newest.get(life.entity, 0)),
        *((policy, life) for policy, life in held if life.state is State.KNOWN and not life.source),
    ]
    for policy, life in newer:
        forget_undecided(ledger)
        raise lost(
            f"Ranger has policy {policy.id} (`{policy.name}`) of life {life.number} of `{life.entity}`, which the"
            " ledger does not know, so it is a copy from before"
        )
    ledger.record(LedgerChange(life, _to_revoke(_with_holder(life, policy)), policy) for policy, life in held)


def _is_of_another(policy: Policy, life: Life) -> bool:
    """Return whether a policy with the guid of a life that was never sent is another creator's, as it was written."""
    if life.written or not life.creator:
        return False
    named = {(kind, name) for kind, name, *_ in given(policy)}
    if len(named) != 1 or ("user", life.creator) in named:
        return False
    ((_, other),) = named
    return policy.name == as_copy(policy, replace(life, creator=other), life.copy).name


def _with_holder(life: Life, policy: Policy) -> Life:
    """Return the life, undecided for this ledger, as that of the one candidate whom the newer one had decided for."""
    named = {user for item in policy.policy_items for user in item.users}.intersection(life.candidates)
    return replace(life, former=named.pop()) if len(named) == 1 and not life.holder else life


def _to_revoke(life: Life) -> Life:
    if life.state is State.CLOSED and life.reason != RELEASED:
        return replace(life, state=State.CLOSING, moves=True)
    return replace(life, revoke=True, moves=True) if life.state in DOUBTED_STATES else life


def forget_undecided(ledger: DeltaLedger) -> None:
    """Leave lives without a creator that runs might grant: in a ledger that went back they may be over.

    If a policy of one is in Ranger, `sync reconcile --adopt` recognises its creator.
    """
    ledger.record(
        LedgerChange(life, _forgotten(life)) for life in ledger.lives((State.PENDING, State.FAILED, *DOUBTED_STATES))
    )


def _forgotten(life: Life) -> Life:
    nothing = {"creator": None, "accesses": (), "terms": None, "candidates": (), "former": "", "revoke": False}
    found = {"source": "", "event": ""}  # as one that an inventory found: no request is to decide it again
    return life.become(State.KNOWN, **WITHOUT_GRANT, **nothing, **found, taken="", reason=FORGOTTEN)
