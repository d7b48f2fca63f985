"""`ranger-cdap setup`: register the definition, create the service, give the accounts their rights."""

from __future__ import annotations

import click

from ranger_cdap.cli.administrator import administrator, confirm
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.policies.manage import service_setup
from ranger_cdap.policies.manage.service_setup import Change, Wanted


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
    help="A person who administers the instance and its policies, besides `admin.users`. May be repeated.",
)
@click.option(
    "--admin-group",
    "admin_groups",
    multiple=True,
    metavar="GROUP",
    help="A group of such people, besides `admin.groups`. May be repeated.",
)
@click.option("--master-user", metavar="USER", default="", help="The user CDAP itself runs as; default: `master.user`.")
@click.option("--dry-run", is_flag=True, help="Show the plan and do nothing.")
@click.option("--yes", is_flag=True, help="Don't ask before acting.")
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

    Administrators of the instance get READ, WRITE and ADMIN on it and may edit every policy of the service; to data
    they have no access unless a policy gives it. Running it again changes nothing that is already there. The Ranger
    administrator's password is asked for, or taken from the environment variable RANGER_CDAP_SETUP_PASSWORD. No account
    is created: people and service accounts must be known to Ranger.
    """
    settings = invocation.settings
    wanted = Wanted(
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
        steps = service_setup.plan(wanted, service_setup.look(admin, wanted.service))
        if invocation.as_json:
            invocation.print_json([{"change": step.change.value, "what": str(step)} for step in steps])
        else:
            for step in steps:
                invocation.console.print(str(step))
        changes = [step for step in steps if step.change is not Change.KEEP]
        if dry_run or not changes:
            return
        if not yes:
            confirm(f"Make these changes in {settings.ranger.url}?")
        service_setup.carry_out(changes, admin)
