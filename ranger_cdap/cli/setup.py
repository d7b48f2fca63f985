"""`ranger-cdap setup`: register the service definition, create the service, and give the accounts their rights."""

from __future__ import annotations

from collections.abc import Sequence

import click

from ranger_cdap.cli.administrator import administrator, confirm
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.errors import RangerAdminError
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.manage import service_setup
from ranger_cdap.policies.manage.service_setup import DesiredState, SetupAction, Step


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap setup --dry-run",
        "ranger-cdap setup --yes --admin-user ann --master-user cdap",
    ),
)
@click.option(
    "--ranger-user", metavar="USER", default="admin", show_default=True, help="A Ranger administrator; never stored."
)
@click.option(
    "--admin-user",
    "admin_users",
    multiple=True,
    metavar="USER",
    help="An administrator of the instance and its policies, in addition to `admin.users`. Repeatable.",
)
@click.option(
    "--admin-group",
    "admin_groups",
    multiple=True,
    metavar="GROUP",
    help="A group of administrators, in addition to `admin.groups`. Repeatable.",
)
@click.option("--master-user", metavar="USER", default="", help="The user CDAP itself runs as; default: `master.user`.")
@click.option("--dry-run", is_flag=True, help="Show the plan and missing users and groups, and exit.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@pass_invocation
def setup(
    invocation: Invocation,
    ranger_user: str,
    admin_users: tuple[str, ...],
    admin_groups: tuple[str, ...],
    master_user: str,
    dry_run: bool,
    yes: bool,
) -> None:
    """Register the service definition in Ranger Admin and set up the service.

    Administrators of the instance get READ, WRITE and ADMIN on it and may edit every policy of the service; they have
    no access to data unless a policy grants it. Idempotent: what already exists is not changed. The Ranger
    administrator's password is read from the environment variable RANGER_CDAP_SETUP_PASSWORD or prompted for. No
    account is created: users and service accounts must exist in Ranger. Users and groups of new policies are looked up
    first: if any is missing, nothing is changed.
    """
    settings = invocation.settings
    wanted = DesiredState(
        service=settings.ranger.service,
        instance=settings.cdap.instance,
        plugin_account=settings.plugin.username,
        sync_account=settings.sync.username,
        master_user=master_user or settings.master.user,
        master_may_create=settings.master.create == "allow",
        admin_users=tuple(dict.fromkeys((*settings.admin.users, *admin_users))),
        admin_groups=tuple(dict.fromkeys((*settings.admin.groups, *admin_groups))),
    )
    with administrator(invocation, ranger_user) as admin:
        steps = service_setup.plan(wanted, service_setup.read_state(admin, wanted.service))
        if invocation.as_json:
            invocation.print_json([{"change": step.change.value, "what": str(step)} for step in steps])
        else:
            for step in steps:
                invocation.console.print(str(step))
        changes = [step for step in steps if step.change in (SetupAction.CREATE, SetupAction.UPDATE)]
        service_setup.require_principals(changes, admin)
        if dry_run or not changes:
            return
        if not yes:
            confirm(f"Make these changes in {settings.ranger.url}?")
        _carry_out(changes, admin)


def _carry_out(steps: Sequence[Step], admin: RangerAdmin) -> None:
    done: list[Step] = []
    for step in steps:
        try:
            service_setup.carry_out([step], admin)
        except RangerAdminError:
            before = ", ".join(other.subject for other in done) or "nothing"
            click.echo(f"failed: {step.subject}; done before it: {before}; afterwards run setup again", err=True)
            raise
        done.append(step)
