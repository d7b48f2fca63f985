"""Checks that administrators have their rights in Ranger, and that no one else has what `setup` once gave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ranger_cdap.config import Settings
from ranger_cdap.doctor.finding import SETUP, Finding, failed, skipped, well
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger.changes.setup_rights import Holder, held, rights
from ranger_cdap.ranger.changes.step import StepChange
from ranger_cdap.ranger.setup.setup_policies import ADMIN_ACCESSES, instance_policies, policy_steps
from ranger_cdap.ranger.setup.setup_state import CurrentState, DesiredState
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.download import ServicePolicies
from ranger_cdap.ranger_model.policy import Policy


def examine_administrators(
    settings: Settings, policies: ServicePolicies, readable: Iterable[Policy]
) -> Iterator[Finding]:
    """Check what administrators may do on the instance, and whether `setup` would change anybody's rights."""
    existing = list(readable)
    wanted, found = DesiredState.of(settings), CurrentState(None, None, existing)
    changes = [step for step in policy_steps(wanted, found) if step.change is not StepChange.KEEP]
    yield (
        failed("rights by `setup`", "they differ from the settings: " + "; ".join(map(str, changes)), SETUP)
        if changes
        else well("rights by `setup`", "as the settings have them")
    )
    named = list(rights((), users=wanted.admin_users, groups=wanted.admin_groups))
    if not named:
        return
    check = "administrators in Ranger"
    try:
        engine = PolicyEngine.build(replaced(policies, tag_policies=None))  # an instance has no tags
    except PolicySetError as e:
        yield skipped(check, str(e))
        return
    lacking = {holder: missing for holder in named if (missing := _missing(engine, holder, settings.cdap.instance))}
    if lacking:
        texts = [f"{holder} lacks {', '.join(missing)}" for holder, missing in lacking.items()]
        receivers = {holder for step in changes for holder in step.receivers}
        denied = "allow what other policies deny: `ranger-cdap policies export` has them"
        advice = SETUP if receivers & set(lacking) else denied
        yield failed(check, f"on instance `{settings.cdap.instance}` {'; '.join(texts)}", advice)
        return
    others = {
        str(holder)
        for policy in instance_policies(existing, settings.cdap.instance)
        for holder, accesses in held(policy).items()
        if "admin" in accesses and holder not in named
    }
    more = f"; also, by what people wrote: {', '.join(sorted(others))}" if others and not changes else ""
    yield well(check, f"{', '.join(map(str, named))}{more}")


def _missing(engine: PolicyEngine, holder: Holder, instance: str) -> list[str]:
    """Return the rights on the instance that the policies do not give to this user, or to members of this group."""
    user, groups = (holder.name, frozenset[str]()) if holder.kind == "user" else ("", frozenset({holder.name}))
    asked = {access: AccessRequest({"instance": instance}, access, user, groups) for access in ADMIN_ACCESSES}
    return [access.upper() for access, request in asked.items() if not engine.evaluate(request).allowed]
