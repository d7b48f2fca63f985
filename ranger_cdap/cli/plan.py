"""`ranger-cdap plan`: the privileges that an operation needs, and who needs them; also as policies."""

from __future__ import annotations

import click

from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.cdap.additional_privileges import AdditionalPrivileges, additional_privileges
from ranger_cdap.cdap.checks.recorded_paths import RecordedPath, recorded_paths
from ranger_cdap.cdap.plan import plan
from ranger_cdap.cdap.profile import Operation
from ranger_cdap.cli.check_arguments import CheckArguments, check_arguments
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.plan_text import PlannedOperation
from ranger_cdap.errors import InvalidInput, suggestion
from ranger_cdap.policies.manage.needed_policies import NeededPolicy, needed_policies
from ranger_cdap.policies.manage.strict_text import write_json


@click.command(
    "plan",
    cls=Command,
    examples=(
        "ranger-cdap plan alice dataset.get dataset:ns1.kv",
        "ranger-cdap plan alice application.deploy application:ns1.app --jar artifact:ns1.app"
        " --with datasets=dataset:ns1.kv --impersonate svc",
        "ranger-cdap plan alice dataset.truncate dataset:ns1.kv --for-cdap --policies",
    ),
)
@check_arguments
@click.option(
    "--for-cdap", is_flag=True, help="Also show what CDAP itself asks on the way, as a real one was recorded."
)
@click.option(
    "--recorded",
    metavar="NAME",
    multiple=True,
    help="With --for-cdap: only this recorded operation of CDAP, by the name that is shown. Repeatable.",
)
@click.option("--policies", "as_policies", is_flag=True, help="Print the policies that give all of it, as JSON.")
@click.option(
    "--alternative",
    metavar="NUMBER",
    type=click.IntRange(min=1),
    help="The alternative to give; default: the one that gives least.",
)
@pass_invocation
def plan_command(
    invocation: Invocation,
    asked: CheckArguments,
    for_cdap: bool,
    recorded: tuple[str, ...],
    as_policies: bool,
    alternative: int | None,
) -> None:
    """Show what must be granted, and to whom, for USER to perform OPERATION on ENTITY.

    Ranger is not contacted. CDAP checks more on the way of an operation than a profile requires for it:
    with --for-cdap, what it asks in addition is shown as well, with the recorded check that fails otherwise.
    """
    needed = (
        ("--recorded", recorded, "`--for-cdap`", for_cdap),
        ("--alternative", alternative, "`--policies`", as_policies),
    )
    for option, given, others, is_complete in needed:
        if given and not is_complete:
            raise InvalidInput(f"`{option}` needs {others}")
    rules = AuthorizationConfig.of(invocation.settings)
    row = rules.options.applied_to(rules.profile.operation(asked.operation))
    context = rules.with_master(asked.context)
    needs = plan(row, asked.entity, asked.user, context, rules.options)
    more: AdditionalPrivileges | None = None
    if for_cdap:
        more = additional_privileges(
            rules.profile, row, asked.entity, asked.user, context, rules.options, paths=_paths(row, recorded)
        )
    planned = PlannedOperation(row, asked.context, needs, more)
    if not as_policies:
        planned.show(invocation)
        return
    policies = _policies(invocation, planned, alternative)
    click.echo(write_json({"policies": [policy.document() for policy in policies]}), nl=False)


def _paths(row: Operation, names: tuple[str, ...]) -> tuple[RecordedPath, ...] | None:
    """Return the recorded paths of these names; None without names.

    Raises:
        InvalidInput: the operation was not recorded under such a name.
    """
    known = {path.recorded: path for path in recorded_paths(row.name)}
    for name in names:
        if name not in known:
            hint = suggestion(name, known, list_all=True) if known else ": it was not recorded"
            raise InvalidInput(f"`{row.name}` has no recorded operation `{name}`{hint}")
    return tuple(known[name] for name in names) or None


def _policies(invocation: Invocation, planned: PlannedOperation, number: int | None) -> tuple[NeededPolicy, ...]:
    """Return the policies of one alternative, and say which.

    Raises:
        InvalidInput: there is no such alternative.
        UnsafeGrant: a name is not that of a single user.
    """
    count = len(planned.needs)
    if not count:
        raise InvalidInput(planned.undecided)
    if number is not None and number > count:
        raise InvalidInput(f"there is no alternative {number}; the number of alternatives is {count}")
    chosen = planned.cheapest if number is None else number - 1
    if count > 1:
        why = " gives least; `--alternative` takes another" if number is None else ""
        invocation.messages.print(f"note: alternative {chosen + 1} of {count}{why}")
    for note in planned.notes:
        invocation.messages.print(f"note: {note}")
    return needed_policies(planned.rights(chosen), invocation.settings.cdap.instance)
