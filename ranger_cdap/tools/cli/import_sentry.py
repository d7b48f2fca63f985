"""`ranger-cdap import sentry`: roles that Apache Sentry kept for CDAP, as roles of Ranger with their policies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from ranger_cdap.cli.command import Command, CommandGroup
from ranger_cdap.cli.files import reading
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.cli.ranger_changes import CHANGE_EXITS, change_ranger, changing, counted, documents, note_saved
from ranger_cdap.errors import InvalidInput
from ranger_cdap.ranger.changes.step import Step
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.tools.roles.found_roles import read_roles
from ranger_cdap.tools.sentry.sentry_file import LARGEST_SENTRY_FILE, LeftOut, parse_sentry_file
from ranger_cdap.tools.sentry.sentry_roles import SentryImport, sentry_plan, sentry_roles


@click.group("import", cls=CommandGroup, examples=("ranger-cdap import sentry sentry-policy.ini --dry-run",))
def import_group() -> None:
    """Import roles and privileges for CDAP from another system."""


@import_group.command(
    "sentry",
    cls=Command,
    examples=(
        "ranger-cdap import sentry sentry-policy.ini --dry-run",
        "ranger-cdap import sentry sentry-policy.ini",
        "ranger-cdap import sentry sentry-policy.ini --delete --dry-run",
    ),
    exits=CHANGE_EXITS,
)
@changing
@click.option("--delete", is_flag=True, help="Delete imported roles that are no longer in FILE, with their privileges.")
@click.argument("file", type=FILE, metavar="FILE")
@pass_invocation
def import_sentry(invocation: Invocation, file: Path, dry_run: bool, delete: bool, yes: bool, ranger_user: str) -> None:
    """Create Ranger roles with policies from an Apache Sentry policy file, or its JSON form.

    A role gets its groups and exactly the privileges that it had in CDAP with Sentry; nothing is inherited. Privileges
    that cannot be imported are reported with their place and left out. A later import follows the file: imported groups
    and privileges that FILE no longer contains are removed, and others are kept. A role of the same name that was not
    imported is left alone. Idempotent.
    """
    found = _read(invocation, file)
    change_ranger(
        invocation,
        ranger_user,
        lambda admin: _planned(invocation, admin, found, delete=delete),
        dry_run=dry_run,
        yes=yes,
        show=lambda steps: _show(invocation, found.left_out, steps),
    )


def _read(invocation: Invocation, path: Path) -> SentryImport:
    settings = invocation.settings
    with reading(path) as opened:
        content = opened.read(LARGEST_SENTRY_FILE + 1)
    try:
        file = parse_sentry_file(content)
    except InvalidInput as e:
        raise InvalidInput(f"`{path}` cannot be imported: {e}") from None
    return sentry_roles(file, service=settings.ranger.service, instance=settings.cdap.instance)


def _planned(invocation: Invocation, admin: RangerAdmin, found: SentryImport, *, delete: bool) -> Sequence[Step]:
    there = read_roles(admin, invocation.settings.ranger.service, found.names, with_rights=True)
    return sentry_plan(found, there, delete=delete)


def _show(invocation: Invocation, left_out: Sequence[LeftOut], steps: Sequence[Step]) -> None:
    document = {
        "left_out": [{"place": one.place.text, "what": one.what, "why": one.why} for one in left_out],
        "steps": documents(steps),
    }
    heading = [f"{counted(len(left_out), 'thing')} of the file left out:"] if left_out else []
    planned: Sequence[object] = steps or ["nothing to do: the file has no role that can be imported"]
    invocation.show(document, [*heading, *(f"  {one}" for one in left_out), *planned])
    note_saved(invocation, steps)
