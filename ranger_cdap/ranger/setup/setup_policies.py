"""Policies that `setup` makes and keeps as the settings have it: of administrators, and of CDAP's master user. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Self

from ranger_cdap.cdap.grant import is_creators_policy
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger.changes.setup_rights import (
    Holder,
    Rights,
    added,
    differences,
    held,
    in_order,
    reconcile,
    rights,
)
from ranger_cdap.ranger.changes.step import Step, StepChange, policy_step
from ranger_cdap.ranger.setup.setup_state import CurrentState, DesiredState
from ranger_cdap.ranger_model.policy import Policy, PolicyResource

# Rights of CDAP's master user in every namespace: to list entities, to run previews, and to run programs without
# impersonation (cdap-facts.md §3.1, §3.3; document 004).
MASTER_POLICIES: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("namespace",): ("read",),
    ("namespace", "artifact"): ("read",),
    ("namespace", "application", "program"): ("read", "execute"),
    ("namespace", "dataset"): ("read", "write"),
    ("namespace", "dataset_module"): ("read",),
    ("namespace", "dataset_type"): ("read",),
}
EVERY_NAME = "?*"
"""Every name of a level, but not the level above: Ranger matches a trailing `*` also without that level."""

MASTER_CREATES = (("namespace", "dataset"), ("namespace", "dataset_module"), ("namespace", "dataset_type"))
"""Resources on which the master user also needs ADMIN to create entities itself (`master.create = "allow"`)."""

ADMIN_ACCESSES = ("read", "write", "admin")
"""Rights of administrators on the instance."""

MASTER_ACCESSES = ("read", "write")
"""Rights of the master user on the instance, beside those by which it creates the first namespace."""

FIRST_NAMESPACE = "default"
"""The namespace that CDAP creates on startup, as the master user: without the right to, it does not start."""


@dataclass(frozen=True, slots=True)
class _SetupPlace:
    """Resources of one policy of `setup`, its name, and who gets rights there."""

    name: str
    who: str
    resources: Mapping[str, PolicyResource]

    @classmethod
    def instance(cls, instance: str) -> Self:
        """Return the place of an instance itself."""
        resources = {"instance": PolicyResource(values=[instance])}
        return cls(f"instance {instance}", "administrators and the CDAP master user", resources)

    @classmethod
    def every(cls, instance: str, levels: tuple[str, ...]) -> Self:
        """Return the place of everything of a kind."""
        resources = {**cls.instance(instance).resources, **{n: PolicyResource(values=[EVERY_NAME]) for n in levels}}
        return cls(f"every {levels[-1]} of {instance}: CDAP master user", "the CDAP master user", resources)

    @classmethod
    def first_namespace(cls, instance: str) -> Self:
        """Return the place of the namespace that CDAP creates on startup."""
        resources = {**cls.instance(instance).resources, "namespace": PolicyResource(values=[FIRST_NAMESPACE])}
        name = f"namespace {FIRST_NAMESPACE} of {instance}: CDAP master user"
        return cls(name, "the CDAP master user", resources)


def policy_steps(wanted: DesiredState, found: CurrentState) -> Iterator[Step]:
    """Yield the steps of the policies of administrators and of the master user: on the instance, and everywhere."""
    masters = (wanted.master_user,) if wanted.master_user else ()
    first_on_instance, first_on_namespace = wanted.to_create_first
    of_master = {*MASTER_ACCESSES, *first_on_instance}
    on_instance = added(
        rights(ADMIN_ACCESSES, users=wanted.admin_users, groups=wanted.admin_groups), rights(of_master, users=masters)
    )
    yield from _steps_of_place(wanted, found, _SetupPlace.instance(wanted.instance), on_instance)
    for levels, accesses in MASTER_POLICIES.items():
        creates = wanted.master_may_create and levels in MASTER_CREATES
        needed = (*accesses, "admin") if creates else accesses
        place = _SetupPlace.every(wanted.instance, levels)
        yield from _steps_of_place(wanted, found, place, rights(needed, users=masters))
    on_namespace = rights(first_on_namespace, users=masters if first_on_namespace else ())
    yield from _steps_of_place(wanted, found, _SetupPlace.first_namespace(wanted.instance), on_namespace)


def instance_policies(policies: Iterable[Policy], instance: str) -> list[Policy]:
    """Return the policies on exactly an instance, in effect or not."""
    return _on(policies, _SetupPlace.instance(instance).resources)


def _on(policies: Iterable[Policy], resources: Mapping[str, PolicyResource]) -> list[Policy]:
    theirs = (one for one in policies if not (one.policy_type or one.zone_name or is_creators_policy(one)))
    return [one for one in theirs if one.resources == resources]


def _steps_of_place(wanted: DesiredState, found: CurrentState, place: _SetupPlace, named: Rights) -> Iterator[Step]:
    """Yield the step for one resource, and those for further policies there in which `setup` once gave rights."""
    on_it = _on(found.policies, place.resources)
    # Ranger refuses a second policy in addition to one of these.
    usable = next((policy for policy in on_it if _decides_there(policy)), None)
    yield from (
        step
        for policy in on_it
        if policy is not usable and (step := _policy_step(policy, found, named, may_give=False))
    )
    if usable is not None:
        step = _policy_step(usable, found, named, may_give=not usable.conditions)
        if step is not None:
            yield step
        if usable.conditions and (lacking := _lacking(usable, named)):
            detail = f"policy {usable.id} has conditions; add manually what is missing: {_text(lacking)}"
            yield Step(StepChange.BLOCKED, "policy", usable.name, detail, there=found.document(usable))
        elif step is None and named:
            there, enough = found.document(usable), f"policy {usable.id} gives what is needed"
            yield Step(StepChange.KEEP, "policy", usable.name, enough, there=there)
        return
    if not named:
        return
    empty = Policy(
        service=wanted.service,
        name=place.name,
        description=f"Made by ranger-cdap setup: {place.who}",
        resources=dict(place.resources),
    )
    policy = reconcile(empty, named)
    taken = next((other for other in found.policies if (other.name, other.zone_name) == (policy.name, "")), None)
    if taken is None:
        yield policy_step(None, policy, {}, _text(held(policy)), tuple(held(policy)))
    else:
        detail = f"policy {taken.id} has this name, and is not in effect for this resource; rename or delete it"
        yield Step(StepChange.BLOCKED, "policy", taken.name, detail, there=found.document(taken))


def _decides_there(policy: Policy) -> bool:
    return policy.is_enabled and not (
        policy.validity_schedules or policy.additional_resources or policy.policy_priority
    )


def _policy_step(policy: Policy, found: CurrentState, named: Rights, *, may_give: bool) -> Step | None:
    """Return the step that reconciles a policy; None if nothing is to change."""
    after = reconcile(policy, named, may_give=may_give)
    if after.policy_items == policy.policy_items and set(after.policy_labels) == set(policy.policy_labels):
        return None
    changes = list(differences(policy, after))
    given = {holder: more for holder, more, _ in changes if more}
    revoked = {holder: less for holder, _, less in changes if less}
    parts = [f"give {_text(given)}" if given else "", f"revoke {_text(revoked)}" if revoked else ""]
    detail = "; ".join(filter(None, parts)) or "only the record of what `setup` gave"
    return policy_step(policy, after, found.document(policy), f"policy {policy.id}: {detail}", tuple(given))


def _lacking(policy: Policy, wanted: Rights) -> dict[Holder, frozenset[str]]:
    has = held(policy)
    return {holder: rest for holder, needed in wanted.items() if (rest := needed - has.get(holder, frozenset()))}


def _text(given: Rights) -> str:
    """Return rights as text, with the users and groups that have the same ones together."""
    together = grouped((accesses, str(holder)) for holder, accesses in given.items())
    return "; ".join(f"{', '.join(in_order(accesses))} for {', '.join(names)}" for accesses, names in together.items())
