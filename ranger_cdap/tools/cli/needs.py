"""`ranger-cdap needs`: the privileges that operations need, and who needs them; also as policies."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

import click

from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.authz.decider import Decider
from ranger_cdap.cdap.additional_privileges import additional_privileges
from ranger_cdap.cdap.checks.recorded_paths import RecordedPath, recorded_paths
from ranger_cdap.cdap.plan import plan
from ranger_cdap.cdap.profile import Operation, load_profile
from ranger_cdap.cli.check_arguments import CheckArguments, check_arguments
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.files import usable
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import ENTITY_TYPE, PROFILE, refuse_unused
from ranger_cdap.cli.policy_files import WHICH, WHICH_HELP, PolicyFiles
from ranger_cdap.errors import InvalidInput, suggestion
from ranger_cdap.ranger.files.strict_text import write_json
from ranger_cdap.tools.cli.known_zones import known_zones
from ranger_cdap.tools.cli.needs_text import PlannedOperation
from ranger_cdap.tools.cli.operations_text import OperationText, lines
from ranger_cdap.tools.policies.needed_policies import NeededPolicy, needed_policies

_NONE: Final = PolicyFiles("")


@click.command(
    "needs",
    cls=Command,
    examples=(
        "ranger-cdap needs alice dataset.get dataset:ns1.kv",
        "ranger-cdap needs alice application.deploy application:ns1.app --jar artifact:ns1.app"
        " --with datasets=dataset:ns1.kv --impersonate svc",
        "ranger-cdap needs alice dataset.truncate dataset:ns1.kv --for-cdap --policies ranger:",
        "ranger-cdap needs --type dataset --profile 004",
    ),
)
@partial(check_arguments, required=False)
@click.option(
    "--for-cdap", is_flag=True, help="Also show the privileges that CDAP itself checks, as recorded from a real CDAP."
)
@click.option(
    "--recorded",
    metavar="NAME",
    multiple=True,
    help="With --for-cdap: only this recorded operation, by its name in the output. Repeatable.",
)
@click.option(
    "--policies",
    "files",
    type=WHICH,
    is_flag=False,
    flag_value=_NONE,
    metavar="WHICH",
    help=f"Print policies that grant these privileges, as JSON, in the security zones of WHICH. {WHICH_HELP}"
    " Without WHICH, at the end of the command: outside zones.",
)
@click.option(
    "--alternative",
    metavar="NUMBER",
    type=click.IntRange(min=1),
    help="The alternative to grant; default: the one with the fewest privileges.",
)
@click.option("--profile", type=PROFILE, help="Without USER: use this profile instead of the configured one.")
@click.option("--type", "kind", type=ENTITY_TYPE, help="Without USER: only the operations of this entity type.")
@pass_invocation
def needs(
    invocation: Invocation,
    asked: CheckArguments | None,
    for_cdap: bool,
    recorded: tuple[str, ...],
    files: PolicyFiles | None,
    alternative: int | None,
    profile: str | None,
    kind: str | None,
) -> None:
    """Show which privileges USER needs to perform OPERATION on ENTITY. Without arguments, list the operations of a
    profile with the privileges they need and grant, and the requirement that each implements.

    During an operation, CDAP itself checks more privileges than the profile requires. With --for-cdap these are shown
    too, each with the recorded check that fails without it.

    A policy outside security zones has no effect on an entity in one: write --policies ranger: if Ranger has any. Only
    then is Ranger contacted.
    """
    refuse_unused(
        (for_cdap or files, asked, "`--for-cdap` and `--policies` need USER, OPERATION and ENTITY"),
        (profile or kind, asked is None, "`--profile` and `--type` list operations, without USER"),
        (recorded, for_cdap, "`--recorded` needs `--for-cdap`"),
        (alternative, files, "`--alternative` needs `--policies`"),
    )
    if asked is None:
        _list_operations(invocation, profile or invocation.settings.cdap.profile, kind)
        return
    planned = _planned(invocation, asked, for_cdap, recorded)
    if files is not None:
        policies = _policies(invocation, planned, alternative, files)
        click.echo(write_json({"policies": [policy.document() for policy in policies]}), nl=False)
    else:
        planned.show(invocation)


def _list_operations(invocation: Invocation, profile: str, kind: str | None) -> None:
    shown = lines(load_profile(profile), kind)
    invocation.show_table(
        [_document(line) for line in shown],
        ["operation", "needs", "gives", "requirements", "remark"],
        [
            [line.operation, line.needs_in_lines, line.given, "\n".join(line.requirements), line.remark]
            for line in shown
        ],
    )


def _document(line: OperationText) -> dict[str, object]:
    document = asdict(line)
    document["any_of"] = document.pop("alternatives")
    return document


def _planned(
    invocation: Invocation, asked: CheckArguments, for_cdap: bool, recorded: tuple[str, ...]
) -> PlannedOperation:
    rules = AuthorizationConfig.of(invocation.settings)
    row = rules.options.applied_to(rules.profile.operation(asked.operation, asked.entity.type))
    asks = (row, asked.entity, asked.user, rules.with_master(asked.context), rules.options)
    more = additional_privileges(rules.profile, *asks, paths=_paths(row, recorded)) if for_cdap else None
    return PlannedOperation(row, asked.context, plan(*asks), more)


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


def _policies(
    invocation: Invocation, planned: PlannedOperation, number: int | None, files: PolicyFiles
) -> tuple[NeededPolicy, ...]:
    """Return the policies of one alternative, and say which.

    Raises:
        InvalidInput: there is no such alternative, or the policies with the zones cannot be used.
        UnsafeGrant: a name is not that of a single user.
        RangerAdminError: Ranger Admin is unavailable, or the account lacks a right.
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
    engine = None
    if files != _NONE:
        with usable(Path(str(files))):
            found = files.read(invocation, invocation.messages.print, listed=True)
            engine = Decider.of_documents(found, invocation.settings).snapshot.engine
    return needed_policies(
        planned.rights(chosen), invocation.settings.cdap.instance, known_zones(invocation, files, engine)
    )
