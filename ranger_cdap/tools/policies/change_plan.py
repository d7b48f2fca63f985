"""The changes that make Ranger's policies those of the files, and what stands in their way. Pure.

Laws: a plan never touches a policy of the sync job, edited or not; without `delete` no policy of Ranger loses its
content to another one; two equal plans make the same changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec

from ranger_cdap.cdap.grant import is_creators_policy
from ranger_cdap.ranger.changes.step import Json, Step, StepChange
from ranger_cdap.ranger.changes.transfer import differing, extra, plan, policy_key, portable
from ranger_cdap.tools.policies.creator_grants import CreatorGrants

# Members that only name or describe a policy: where no other differs, it was renamed.
_NAMING: Final = frozenset({"name", "description", "policyLabels"})
_DENYING: Final = ("denyPolicyItems", "allowExceptions")


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """Steps in the order in which they are made.

    `grants` counts those of the sync job in Ranger, which stay, and `left_out` those in the files.
    """

    steps: tuple[Step, ...]
    grants: int
    left_out: int

    @property
    def drift(self) -> tuple[Step, ...]:
        """Return the steps of all policies that differ, also those that stay."""
        return tuple(step for step in self.steps if step.differs)


def change_plan(wanted: Sequence[Json], there: Sequence[Json], *, delete: bool, grants: CreatorGrants) -> ChangePlan:
    """Return the plan; with `delete` policies that the files do not have are removed."""
    of_the_job = [policy for policy in there if is_creators_policy(policy)]
    mine = [policy for policy in wanted if not is_creators_policy(policy)]
    steps = list(plan(mine, [policy for policy in there if not is_creators_policy(policy)]))
    steps = [_deleted(step) if delete else step for step in _with_renames(steps, replacing=delete)]
    edited = [policy for policy in of_the_job if not grants.made(policy)]
    steps += [extra(policy, "it is the sync job's, which people have edited; it stays") for policy in edited]
    steps = sorted(_with_obstacles(steps, of_the_job), key=_rank)
    return ChangePlan(tuple(steps), len(of_the_job), len(wanted) - len(mine))


def _with_renames(steps: Sequence[Step], *, replacing: bool) -> list[Step]:
    """Join a missing and an additional policy of one resource: Ranger has room for one only."""
    extra = {_signature(step.there): step for step in steps if step.stays and step.there}
    joined: dict[int, Step] = {}
    for place, step in enumerate(steps):
        if step.change is not StepChange.CREATE or step.wanted is None:
            continue
        old = extra.get(_signature(step.wanted))
        if old is None or old.there is None or old.zone != step.zone:
            continue
        differs = differing(step.wanted, portable(old.there))
        if replacing or set(differs) <= _NAMING:
            del extra[_signature(step.wanted)]
            detail = f"was `{old.name}`, differs in {', '.join(differs)}"
            joined[place] = replace(step, change=StepChange.UPDATE, detail=detail, there=old.there)
    gone = {id(step.there) for step in joined.values()}
    return [joined.get(place, step) for place, step in enumerate(steps) if not (step.stays and id(step.there) in gone)]


def _deleted(step: Step) -> Step:
    return replace(step, change=StepChange.DELETE, stays=False) if step.stays else step


def _with_obstacles(steps: Sequence[Step], grants: Sequence[Json]) -> list[Step]:
    """Mark the steps whose resource another policy has, in Ranger afterwards."""
    holders: dict[str, list[tuple[int, str]]] = {}
    for place, step in enumerate(steps):
        content = step.there if step.stays else step.wanted
        if content is not None and content.get("isEnabled", True):
            holders.setdefault(_signature(content), []).append((place, f"policy `{step.name}`"))
    for grant in grants:
        holders.setdefault(_signature(grant), []).append((-1, f"the grant `{grant['name']}` of the sync job"))
    marked = list(steps)
    for several in holders.values():
        for place, _ in several:
            others = [name for other, name in several if other != place]
            if others and place >= 0 and steps[place].changes:
                why = f"{others[0]} has the same resource, and Ranger takes one policy for it"
                marked[place] = replace(steps[place], change=StepChange.BLOCKED, detail=why)
    return marked


def _rank(step: Step) -> int:
    """Order changes so that denials come first and go last; what only allows goes before anything new allows."""
    content = step.there if step.change is StepChange.DELETE else step.wanted
    denies = any((content or {}).get(name) for name in (*_DENYING, "isDenyAllElse"))
    if step.change is StepChange.DELETE:
        return 4 if denies else 1
    if step.change is StepChange.CREATE:
        return 0 if denies else 3
    return 0 if denies else 2


def _signature(policy: Any) -> str:
    """Return what Ranger lets only one enabled policy have: resources, type, zone, priority and schedules."""
    sets = [policy.get("resources") or {}, *(policy.get("additionalResources") or ())]
    resources = sorted(
        [
            [name, sorted(level.get("values") or ()), bool(level.get("isExcludes")), bool(level.get("isRecursive"))]
            for name, level in sorted(one.items())
        ]
        for one in sets
    )
    zone, _ = policy_key(policy)
    schedules = policy.get("validitySchedules") or []
    return msgspec.json.encode(
        [resources, policy.get("policyType") or 0, zone, policy.get("policyPriority") or 0, schedules], order="sorted"
    ).decode()
