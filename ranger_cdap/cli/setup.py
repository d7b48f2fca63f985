"""`ranger-cdap setup`: register the service definition, create the service, and give the accounts their rights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from ranger_cdap.cdap.grant import check_grantee
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.cli.ranger_changes import CHANGE_EXITS, change_ranger, changing, show_steps
from ranger_cdap.config.cdap_site import DOCUMENTED, SiteProposal, as_toml, proposal
from ranger_cdap.ranger.changes.step import Step
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap setup --dry-run",
        "ranger-cdap --set admin.users=ann --set master.user=cdap setup --yes",
        "ranger-cdap setup --lookup --yes",
        "ranger-cdap setup --from-cdap-site /etc/cdap/conf/cdap-site.xml",
    ),
    exits=CHANGE_EXITS,
)
@changing
@click.option(
    "--lookup/--no-lookup",
    default=None,
    help="Let Ranger Admin look names up in CDAP: only where the jar of `ranger-cdap extension ranger` is installed "
    "there. Without either option this stays as it is.",
)
@click.option(
    "--from-cdap-site",
    type=FILE,
    metavar="FILE",
    help="Print the settings that this cdap-site.xml proposes for ranger-cdap.toml and what becomes of its other "
    "properties, and exit.",
)
@pass_invocation
def setup(
    invocation: Invocation,
    ranger_user: str,
    lookup: bool | None,
    from_cdap_site: Path | None,
    dry_run: bool,
    yes: bool,
) -> None:
    """Register the service definition in Ranger Admin and set up the service.

    Administrators of the instance get READ, WRITE and ADMIN on it and can edit every policy of the service. They have
    no access to data unless a policy grants it. Users and groups that are no longer in `[admin]` or `[master]` lose
    what `setup` granted them, and nothing else. Policies written by people are not changed. Idempotent. The Ranger
    administrator's password is read from RANGER_CDAP_SETUP_PASSWORD or prompted for. No account is created: users and
    service accounts must exist in Ranger. If a user or group is missing, nothing is changed.

    `cdap.profile` determines the privileges of creators and the policies of CDAP's own user.
    """
    if from_cdap_site is not None:
        check_user = partial(check_grantee, non_creators=())
        _propose(invocation, proposal(from_cdap_site, check_user=check_user, master=invocation.settings.master.name))
        return
    settings = invocation.settings

    def planned(admin: RangerAdmin) -> Sequence[Step]:
        state = service_setup.read_state(admin, settings.ranger.service)
        return service_setup.plan(replace(DesiredState.of(settings), lookup=lookup), state)

    def show(steps: Sequence[Step]) -> None:
        _note_unset(invocation)
        show_steps(invocation, steps)

    change_ranger(invocation, ranger_user, planned, dry_run=dry_run, yes=yes, show=show, despite_blocked=True)


def _note_unset(invocation: Invocation) -> None:
    settings = invocation.settings
    if "cdap.profile" not in invocation.configuration.origins:
        invocation.messages.print(
            f"note: `cdap.profile` is not set, so the profile is `{settings.cdap.profile}`; "
            f"that of CDAP's own documentation is `{DOCUMENTED}`"
        )
    if settings.sync.username and not settings.sync.confirm.url:
        invocation.messages.print(
            "note: `sync.confirm.url` is not set, so the sync job cannot ask CDAP what exists: a grant in doubt "
            "stays suspended or contested until a person settles it"
        )


def _propose(invocation: Invocation, proposed: SiteProposal) -> None:
    if invocation.as_json:
        settings = [{"setting": one.name, "value": one.value, "why": one.why} for one in proposed.settings]
        others = [{"property": one.name, "fate": one.fate} for one in proposed.others]
        invocation.print_json({"settings": settings, "other_properties": others})
        return
    click.echo(as_toml(proposed), nl=False)
    invocation.messages.print(
        "nothing was set up: put what you agree with into `ranger-cdap.toml`, then run `ranger-cdap setup`; "
        "`ranger-cdap needs --profile cdap-6` shows what that profile needs"
    )
