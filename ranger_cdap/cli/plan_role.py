"""The privileges of a job in a namespace as tables, as JSON, as policies, and in Ranger."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.cdap.job_privileges import JobNeed, JobPrivileges, job_privileges
from ranger_cdap.cdap.presets import CONNECTION, Preset, load_preset
from ranger_cdap.cdap.requirements import with_sentence
from ranger_cdap.cli.change_impact import change_impact, print_impact
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.job_arguments import JobArguments
from ranger_cdap.cli.plan_text import actions_text
from ranger_cdap.cli.role_steps import change_roles, step_as_json
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.manage.role_plan import FoundRoles, RoleStep, plan
from ranger_cdap.policies.manage.strict_text import write_json
from ranger_cdap.policies.manage.transfer import portable
from ranger_cdap.questions.answer_documents import entity_document


def show_job(invocation: Invocation, role: str, namespace: str, *, for_cdap: bool) -> None:
    """Print what the profile requires for a job, and with `for_cdap` what CDAP asks in addition.

    Raises:
        InvalidInput: there is no such preset, or none in this profile, or CDAP allows no such namespace.
    """
    rules = AuthorizationConfig.of(invocation.settings)
    preset = load_preset(role, invocation.settings.cdap.profile)
    entity_id("namespace", (namespace,))
    found = job_privileges(rules.profile, preset.operations_in(namespace), rules.options)
    connections = [name for name in preset.operations if name.partition(".")[0] == CONNECTION]
    if invocation.as_json:
        document = {
            "preset": preset.name,
            "namespace": namespace,
            "needs": [_document(one) for one in found.needs],
            "not_recorded": found.not_recorded,
            "empty_lists": found.empty_lists,
            "without_entity_type": connections,
        }
        if for_cdap:
            document["cdap_asks"] = [_document(one) for one in found.more]
        invocation.print_json(document)
        return
    _print_job(invocation, preset, namespace, found, connections, for_cdap=for_cdap)


def print_job_policies(invocation: Invocation, job: JobArguments) -> None:
    """Print the policies of a job's role, as `ranger-cdap roles apply` would make them in a service without policies.

    Raises:
        InvalidInput: there is no such preset, or none in this profile, or the namespace or a name is none.
    """
    wanted = job.wanted(invocation)
    steps = [step.policy for step in plan([wanted], FoundRoles({}, [])) if step.policy is not None]
    invocation.messages.print(
        f"note: they name the role `{wanted.name}`, which Ranger must have before they are imported; `--apply` creates "
        "it as well"
    )
    click.echo(write_json({"policies": [portable(step.wanted or {}) for step in steps]}), nl=False)


def apply_job(invocation: Invocation, job: JobArguments, *, dry_run: bool, yes: bool) -> None:
    """Show the steps that give a job in Ranger and the access that they change, and carry them out if confirmed.

    Raises:
        InvalidInput: as `print_job_policies`, or the role is blocked, or a member is missing; nothing was changed.
        ConflictingChange: the plan has changed since it was shown; nothing was changed.
        RangerAdminError: Ranger Admin is unavailable, or rejected a step.
    """
    job.wanted(invocation)  # before the password is asked for

    def planned(admin: RangerAdmin) -> Sequence[RoleStep]:
        wanted, found = job.found(invocation, admin)
        return plan([wanted], found)

    def show(steps: Sequence[RoleStep], admin: RangerAdmin) -> None:
        policies = [step.policy for step in steps if step.policy is not None]
        found = change_impact(invocation, admin, policies, steps)
        if invocation.as_json:
            effect = None if found is None else {"changes": found.changes}
            invocation.print_json({"steps": list(map(step_as_json, steps)), "impact": effect})
            return
        for step in steps:
            invocation.console.print(str(step))
        print_impact(invocation, found)

    change_roles(invocation, job.account, planned, show, dry_run=dry_run, yes=yes)


def _print_job(
    invocation: Invocation,
    preset: Preset,
    namespace: str,
    found: JobPrivileges,
    connections: Sequence[str],
    *,
    for_cdap: bool,
) -> None:
    say = invocation.console.print
    say(f"{preset.name} in namespace {namespace}: {preset.description}")
    invocation.print_table(["privilege", "on", "for"], _rows(found.needs))
    if for_cdap and found.more:
        say("CDAP also asks for:")
        rows = [
            [*row, "; ".join(dict.fromkeys(map(str, one.asked)))]
            for row, one in zip(_rows(found.more), found.more, strict=True)
        ]
        invocation.print_table(["privilege", "on", "for", "because it checks"], rows)
    elif for_cdap:
        say("CDAP asks for nothing else")
    if found.empty_lists:
        say(f"empty, as the job has no privilege on what they list: {', '.join(found.empty_lists)}")
    if found.not_recorded and for_cdap:
        say(f"not recorded, only the profile's privileges are known: {', '.join(found.not_recorded)}")
    if connections:
        say(f"in no profile, `ranger-cdap roles explain {preset.name}` has their privileges: {', '.join(connections)}")
    shown = [one for one in (*found.needs, *(found.more if for_cdap else ())) if one.requirements]
    if shown:
        say("required by:")
    for one in shown:
        say(f"  {actions_text(one.actions)} on {one.entity}")
        for requirement in one.requirements:
            say(f"    {with_sentence(requirement)}")


def _rows(needs: Sequence[JobNeed]) -> list[list[str]]:
    return [[actions_text(one.actions), str(one.entity), ", ".join(one.operations)] for one in needs]


def _document(need: JobNeed) -> dict[str, object]:
    checks = [
        {"check": str(one.check), "entity": entity_document(one.entity), "recorded": one.recorded} for one in need.asked
    ]
    return {
        "actions": need.actions,
        "entity": entity_document(need.entity),
        "operations": need.operations,
        "requirements": need.requirements,
        **({"checks": checks} if need.asked else {}),
    }
