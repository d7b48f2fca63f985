"""`observe`: what people have done to the policies of lives since the last look, at most once a minute.

Law: a creator keeps the right for as long as the life is open, whatever people do to our policy, unless they took it.
A policy that they moved to another resource is theirs, and the next push writes one anew.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Final

import msgspec

from ranger_cdap.cdap.grant import FORMER_LABEL, granted_resource
from ranger_cdap.config import Settings
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of, guid_of
from spark_sync.grants.own_right import covers
from spark_sync.grants.plan import WITHOUT_GRANT, PlanSettings, own_right
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.grants.push import ranger_admin
from spark_sync.grants.rights_of_others import by_entity, left_on
from spark_sync.ledger.ledger import Ledger, LedgerChange
from spark_sync.ledger.life import Life, State
from spark_sync.ledger.state_file import write_state

EVERY: Final = 60_000
"""Milliseconds between looks: one of 100,000 policies takes Ranger Admin seconds."""
_FILE: Final = "observed.json"


def observe(
    ledger: Ledger, settings: Settings, planning: PlanSettings, *, now: int, ranger: PolicyRest | None = None
) -> None:
    """Record in the ledger which grants people took, moved away or gave back.

    Raises:
        SyncError: the time of this look cannot be recorded.
        RangerAdminError: Ranger Admin cannot be read; nothing is recorded.
    """
    file = settings.sync.state_dir / _FILE
    # In this order: a run that follows comes every second, and must not read all lives for nothing.
    if 0 <= now - _looked(file) < EVERY:
        return
    lives, left = ledger.lives((State.APPLIED, State.BLOCKED)), ledger.lives_with_rights_left()
    if not lives and not left:
        return
    connection: AbstractContextManager[PolicyRest] = nullcontext(ranger) if ranger else ranger_admin(settings)
    with connection as reader:
        changed = list(changes(lives, left, ledger, reader, planning))
    ledger.record(LedgerChange(life.entity, (life,)) for life in changed)
    write_state(file, {"looked": now})


def changes(
    lives: Iterable[Life], left: Collection[Life], ledger: Ledger, ranger: PolicyRest, planning: PlanSettings
) -> Iterator[Life]:
    """Yield the lives that people's edits of policies change; `left`: those with rights of others on their entities.

    A policy of ours that is not listed is looked up.
    """
    listed = ranger.list_policies(planning.service)
    named = by_entity(listed, planning.instance) if left else {}
    yield from (after for life in left if (after := left_on(life, named, ledger, ranger, planning)) != life)
    policies = {policy.guid: policy for policy in listed}
    for life in lives:
        if not (life.applied or life.taken):
            continue
        guid = guid_of(life, planning.instance)
        there = policies.get(guid) or ranger.policy_by_guid(planning.service, guid)
        if (after := observed(life, there, planning)) != life:
            yield after


def observed(life: Life, there: Policy | None, planning: PlanSettings) -> Life:
    """Return the life as people have left it, with its newest policy in Ranger, `None` if that is deleted. Pure."""
    moved = there is not None and not covers(there, granted_resource(life.entity, planning.instance))
    if moved and not life.taken:
        return life.become(State.PENDING, reason="", copy=life.copy + 1, **WITHOUT_GRANT)
    if there is not None and content_of(there) == life.written:
        if not there.additional_resources:  # an older form: a push brings it up to date
            return life.become(State.PENDING, reason="", taken="")
        taken = ""
    elif there is None:
        taken = life.taken or f"taken: policy {life.policy_id} was deleted"
    else:
        as_before = moved or (life.taken and FORMER_LABEL in there.policy_labels)
        taken = life.taken if as_before else own_right(life, planning).taken_from(there)
    if taken:
        return life.become(State.BLOCKED, reason=taken, taken=taken)
    return life.become(State.APPLIED if life.applied else State.PENDING, reason="", taken="")


def _looked(file: Path) -> int:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, int]).get("looked", 0)
    except (OSError, msgspec.MsgspecError):
        return 0
