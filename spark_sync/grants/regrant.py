"""`regranted`: a life as the settings of today would have it, if they have changed since its grant was decided. Pure.

Law: once the result is sent, Ranger holds for the life what it would hold had these settings always been in effect. A
grant that a person took and a manual override stay as they are; of an edited policy only what is ours changes.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import product
from typing import Any

from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.errors import PluginError, UnsafeGrant
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of, seen
from spark_sync.grants.plan import (
    WITHOUT_GRANT,
    CreateGrant,
    NoOp,
    PlanSettings,
    plan,
    possible_content,
    sent_contents,
)
from spark_sync.ledger.grant_terms import NO_ACCESS_BY_PLUGIN, NO_ACCESS_BY_PROFILE, GrantGroup
from spark_sync.ledger.life import MANUAL_TERMS, Life, State


def regranted(life: Life, there: Policy | None, settings: PlanSettings) -> Life:
    """Return the life as the settings would have it: with something to send if its grant changes, else as it is.

    Its terms alone may change, if they differ but its policy does not.

    Args:
        there: our policy of the life in Ranger; `None` without one.
    """
    wanted, group = settings.gives.get(life.entity.type), GrantGroup.of(life)
    if wanted is None or not group.follows_settings or life.is_from_backup:
        return life
    accesses = life.accesses if set(life.accesses) == set(wanted) else tuple(a for a in ACCESS_TYPES if a in wanted)
    given = {"accesses": accesses, "terms": settings.terms}
    if life.state not in (State.KNOWN, State.APPLIED):
        return life if accesses == life.accesses else _unsent(life, there, settings, given)
    return _decided(life, there, settings, given, outdated=group.is_outdated(wanted, settings.terms))


def is_changed(before: Life, after: Life) -> bool:
    """Return whether a life that was regranted has something to send, which it had not before."""
    return after != before and after.state in (State.PENDING, State.FAILED)


def _decided(
    life: Life, there: Policy | None, settings: PlanSettings, given: dict[str, Any], *, outdated: bool
) -> Life:
    """Return a life with a grant, or without one by the settings; `outdated`: other settings decided it."""
    is_known, edited = life.state is State.KNOWN, there is not None and content_of(there) != life.written
    if is_known != (there is None):
        return life  # drift, which a person settles, or taken, which a look finds
    if is_known and not given["accesses"]:
        return replace(life, **given, reason=NO_ACCESS_BY_PROFILE) if outdated else life
    if there and life.terms is None and (edited or not _is_ours(life, there, settings)):
        return replace(life, terms=MANUAL_TERMS)  # adopted, and no grant of ours
    pending = life.become(State.PENDING, **given, reason="")
    (step,) = plan([pending], settings)
    if isinstance(step, NoOp):  # blocked, if its grant is not allowed any more; unchanged, if a plugin failed
        return step.done if step.done.state is State.BLOCKED and outdated else life
    if is_known and not isinstance(step, CreateGrant):
        return replace(life, **given, reason=NO_ACCESS_BY_PLUGIN) if outdated else life
    is_the_same = isinstance(step, CreateGrant) and content_of(step.policy) == life.written
    if is_known or not is_the_same or (edited and outdated):
        return pending
    # By the terms of today its policy is what it is.
    return replace(life, **given) if outdated or life.terms is None else life


def _unsent(life: Life, there: Policy | None, settings: PlanSettings, given: dict[str, Any]) -> Life:
    """Return a life that the next push sends anyway, with other accesses; a killed run may have sent it before."""
    if there is None and life.policy_id < 0:
        return replace(life, **given)
    if there is None:
        # Without accesses a killed run deleted it, having found it unedited; else a person did.
        return life if life.accesses else replace(life, **given, **WITHOUT_GRANT)
    content = content_of(there)
    if content not in sent_contents(life, settings):
        return replace(life, **given)  # edited, as the push finds too
    return replace(life, **given, **seen(there), written=content)


def _is_ours(life: Life, there: Policy, settings: PlanSettings) -> bool:
    """Return whether some settings make us write the policy that the ledger has recorded without its terms."""
    try:
        resultant = settings.resultant(life.entity, life.creator or "", life.accesses)
    except PluginError:
        resultant = life.accesses
    for accesses, delegate in product({life.accesses, resultant}, (False, True)):
        former = replace(settings, delegate_admin=delegate)
        with suppress(UnsafeGrant):
            if accesses and possible_content(life, accesses, former) == life.written:
                return True
    return False
