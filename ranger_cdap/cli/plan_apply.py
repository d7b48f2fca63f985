"""Rights that operations need, given in Ranger: the steps and their impact are shown, confirmed, and carried out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from ranger_cdap.cli.administrator import administrator, confirm
from ranger_cdap.cli.apply import make
from ranger_cdap.cli.change_impact import CHANGING, ChangeImpact, change_impact, print_impact
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.role_steps import counted
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.errors import ConflictingChange, InvalidInput
from ranger_cdap.policies.manage.known_principals import require_known
from ranger_cdap.policies.manage.needed_policies import NeededPolicy, NeededStep, needed_steps
from ranger_cdap.policies.manage.transfer import TransferAction


def apply_needed(
    invocation: Invocation, ranger_user: str, needed: Sequence[NeededPolicy], *, dry_run: bool, yes: bool
) -> None:
    """Show the steps that give these rights and what they change, and carry them out if confirmed.

    Raises:
        InvalidInput: a policy of Ranger stands in the way, or Ranger lacks a user; nothing was changed.
        ConflictingChange: the policies changed meanwhile; nothing was changed.
        RangerAdminError: Ranger Admin is unavailable, or rejected a step.
    """
    settings = invocation.settings
    with administrator(invocation, ranger_user) as admin:

        def now() -> tuple[NeededStep, ...]:
            return needed_steps(needed, admin.policy_documents(settings.ranger.service))

        steps = now()
        changes = [one.step for one in steps if one.step.change in CHANGING]
        found = change_impact(invocation, admin, changes)
        _show(invocation, steps, found, tuple(_lacking(found.after, needed)) if found else ())
        blocked = [one.step.name for one in steps if one.step.change is TransferAction.BLOCKED]
        if blocked:
            raise InvalidInput(f"nothing was done, because another policy stands in the way of `{blocked[0]}`")
        require_known(admin, [user for policy in needed for user in policy.rights])
        if dry_run:
            click.get_current_context().exit(ExitCode.NO if changes else ExitCode.OK)
        if not changes:
            return
        if not yes:
            confirm(f"Make {counted(len(changes), 'change')} in {settings.ranger.url}?")
            if [one.as_json() for one in now()] != [one.as_json() for one in steps]:
                raise ConflictingChange("the plan has changed since it was shown, and nothing was done")
        make(invocation, changes, admin)
        were = "change was" if len(changes) == 1 else "changes were"
        invocation.messages.print(f"{len(changes)} {were} made; plugins have them with their next refresh")


def _show(
    invocation: Invocation, steps: Sequence[NeededStep], found: ChangeImpact | None, lacking: Sequence[str]
) -> None:
    if invocation.as_json:
        effect = None if found is None else {"changes": found.changes, "still_lacking": lacking}
        invocation.print_json({"steps": [one.as_json() for one in steps], "impact": effect})
        return
    for one in steps:
        invocation.console.print(str(one))
    print_impact(invocation, found)
    if all(one.step.change is TransferAction.KEEP for one in steps):
        invocation.console.print("nothing to do: Ranger's policies give all of it")
    for text in lacking:
        invocation.messages.print(f"warning: {text}")


def _lacking(engine: PolicyEngine, needed: Sequence[NeededPolicy]) -> Iterator[str]:
    """Yield the rights that the policies would still not give, as a denial or a security zone may prevent."""
    for policy in needed:
        resource = {level: values["values"][0] for level, values in policy.resources.items()}
        if any("*" in value for value in resource.values()):
            continue
        for user, accesses in policy.rights.items():
            for access in sorted(accesses):
                decision = engine.evaluate(AccessRequest(resource, access, user=user))
                if not (decision.allowed and decision.determined):
                    why = f"policy {decision.policy_id} decides" if decision.policy_id >= 0 else "no policy applies"
                    yield f"{user} would still lack {access} by policy `{policy.name}`: {why}"
