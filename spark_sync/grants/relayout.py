"""`relaid`: applied grants on their way from one layout into the other. Pure.

Law: no decision changes at any step. The new policy is written before the grant leaves the former one, with the same
access types and terms; a grant whose policy was edited, adopted or decided by former settings stays where it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from ranger_cdap.cdap.grant import Grant
from ranger_cdap.cdap.shared_policy import SharedTerms, read_shared
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import content_of, guid_of
from spark_sync.grants.places import free_place
from spark_sync.grants.plan import CreateGrant, Join, PlanSettings, plan, shared_terms
from spark_sync.grants.unmanaged import is_rival
from spark_sync.ledger.life import OWN_POLICY, Life, State

CHANGED: Final = "its policy was changed or deleted manually"
OUTDATED: Final = "it was adopted, or is by former settings, which `ranger-cdap sync regrant` replaces"


@dataclass(frozen=True, slots=True)
class Relayout:
    """Lives to move, on their way and before; `kept`: those of the other layout that stay, with the reason."""

    moving: tuple[Life, ...] = ()
    former: tuple[Life, ...] = ()
    kept: tuple[Life, ...] = ()


def relaid(
    lives: Sequence[tuple[Life, Policy | None]],
    policies: Collection[Policy],
    sizes: Mapping[str, int],
    settings: PlanSettings,
) -> Relayout:
    """Return the moves that bring all applied grants into the layout of the settings.

    Args:
        lives: applied ones, each with the policy in Ranger that holds its grant.
        policies: all of the service, among which may be rivals of policies to be written.
        sizes: the number of grants in each policy of several entities.
    """
    rivals = _rivals_by_resource(policies)
    taken, moving, former, kept = Counter(sizes), list[Life](), list[Life](), list[Life]()
    for life, there in lives:
        if not _is_elsewhere(life, settings):
            continue
        pending = life.become(State.PENDING, reason="")
        step = next(plan([pending], settings), None)
        if there is None or not _is_as_written(life, there):
            kept.append(replace(life, reason=CHANGED))
        elif isinstance(step, CreateGrant) and content_of(step.policy) == life.written:
            moving.append(replace(pending, places=(OWN_POLICY, _shared_home(step, settings, taken))))
            former.append(life)
        elif isinstance(step, Join) and step.shared.key == step.place.key:
            if rival := _rival(step.grant, rivals, guid_of(life, settings.instance)):
                kept.append(replace(life, reason=f"policy {rival.id} (`{rival.name}`) has exactly this resource"))
            else:
                moving.append(replace(pending, places=(life.home, OWN_POLICY)))
                former.append(life)
        else:
            kept.append(replace(life, reason=OUTDATED))
    return Relayout(tuple(moving), tuple(former), tuple(kept))


def _is_elsewhere(life: Life, settings: PlanSettings) -> bool:
    """Return whether a grant is in a policy of ours of the other layout."""
    ours = life.state is State.APPLIED and not life.merged and life.policy_id >= 0
    return ours and bool(life.home) is not (settings.layout == "creator")


def _is_as_written(life: Life, there: Policy) -> bool:
    if not life.home:
        return content_of(there) == life.written
    content = read_shared(there)
    return content is not None and str(content.place) == life.home and life.entity in content.entities


def _shared_home(step: CreateGrant, settings: PlanSettings, taken: Counter[str]) -> str:
    terms: SharedTerms = shared_terms(step.life.entity, step.grant, settings)
    home = free_place(terms, taken, ())
    taken[home] += 1
    return home


def _rivals_by_resource(policies: Collection[Policy]) -> dict[str, list[Policy]]:
    found: dict[str, list[Policy]] = {}
    for policy in policies:
        if not policy.additional_resources:
            found.setdefault(_values(policy), []).append(policy)
    return found


def _values(policy: Policy) -> str:
    return str(sorted((level, *resource.values) for level, resource in policy.resources.items()))


def _rival(grant: Grant, rivals: Mapping[str, Sequence[Policy]], own: str) -> Policy | None:
    same = rivals.get(str(sorted(grant.resource.items())), ())
    return next((policy for policy in same if policy.guid != own and is_rival(policy, grant)), None)
