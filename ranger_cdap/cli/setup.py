"""`ranger-cdap setup`: register the service definition, create the service, and give the accounts their rights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from ranger_cdap.cdap.grant import check_grantee
from ranger_cdap.cli.administrator import administrator, confirm
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.config import Settings
from ranger_cdap.config.cdap_site import DOCUMENTED, SiteProposal, as_toml, proposal
from ranger_cdap.errors import ConflictingChange, RangerAdminError
from ranger_cdap.policies.client.features import missing_features
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.manage import service_setup
from ranger_cdap.policies.manage.proposed_admins import desired_state, read_proposal
from ranger_cdap.policies.manage.service_setup import SetupAction, Step
from ranger_cdap.questions.display import visible
from servicedef import service_definition


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap setup --dry-run",
        "ranger-cdap --set admin.users=ann --set master.user=cdap setup --yes",
        "ranger-cdap setup --lookup --yes",
        "ranger-cdap setup --from-cdap-site /etc/cdap/conf/cdap-site.xml",
    ),
)
@click.option(
    "--ranger-user", metavar="USER", default="admin", show_default=True, help="A Ranger administrator; never stored."
)
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
@click.option("--dry-run", is_flag=True, help="Show the plan and missing users and groups, and exit.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
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

    Administrators of the instance get READ, WRITE and ADMIN on it and may edit every policy of the service; they have
    no access to data unless a policy grants it. Users and groups that are no longer in `[admin]` or `[master]` lose
    what `setup` gave them, and nothing else; what people wrote in Ranger is not changed. Idempotent. The Ranger
    administrator's password is read from the environment variable RANGER_CDAP_SETUP_PASSWORD or prompted for. No
    account is created: users and service accounts must exist in Ranger. Users and groups that get rights are looked up
    first: if any is missing, nothing is changed.

    What creators get, and the policies of the user CDAP itself runs as, are those of `cdap.profile`.
    """
    if from_cdap_site is not None:
        check_user = partial(check_grantee, non_creators=())
        master = invocation.settings.master.name
        _propose(invocation, proposal(from_cdap_site, check_user=check_user, master=master))
        return
    settings = invocation.settings

    def planned() -> tuple[Step, ...]:
        state = service_setup.read_state(admin, settings.ranger.service)
        wanted = desired_state(settings, state.policies)
        return service_setup.plan(replace(wanted, lookup=lookup), state)

    with administrator(invocation, ranger_user) as admin:
        _show_proposal(settings)
        steps = planned()
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
        invocation.show([{"change": step.change.value, "what": str(step)} for step in steps], steps)
        changes = _changes(steps)
        service_setup.require_principals(changes, admin)
        if dry_run or not changes:
            _show_missing(admin)
            return
        if not yes:
            confirm(f"Make these changes in {settings.ranger.url}?")
            again = planned()
            if list(map(str, again)) != list(map(str, steps)):
                raise ConflictingChange("the plan has changed since it was shown, and nothing was done")
            changes = _changes(again)
        _carry_out(changes, admin)
        _show_missing(admin)


def _show_missing(admin: RangerAdmin) -> None:
    """Say what an older Ranger Admin lacks, by the definition as it answers it now."""
    definition = admin.get_service_def(service_definition()["name"])
    for feature in missing_features(definition) if definition else ():
        click.echo(f"note: {feature}", err=True)


def _propose(invocation: Invocation, proposed: SiteProposal) -> None:
    if invocation.as_json:
        settings = [{"setting": one.name, "value": one.value, "why": one.why} for one in proposed.settings]
        others = [{"property": one.name, "fate": one.fate} for one in proposed.others]
        invocation.print_json({"settings": settings, "other_properties": others})
        return
    click.echo(as_toml(proposed), nl=False)
    invocation.messages.print(
        "nothing was set up: put what you agree with into `ranger-cdap.toml`, then run `ranger-cdap setup`; "
        "`ranger-cdap operations --profile cdap-6` shows what that profile needs"
    )


def _show_proposal(settings: Settings) -> None:
    if not settings.admin.from_cdap:
        return
    proposal = read_proposal(settings)
    if proposal.known:
        parts = (("accepted", proposal.accepted), ("refused by `admin.from_cdap`", proposal.refused))
        text = "; ".join(f"{what}: {', '.join(names)}" for what, names in parts if names) or "none"
    else:
        text = (
            f"not known here, so those in Ranger stay; the decision service keeps them in `{settings.plugin.cache_dir}`"
        )
    click.echo(visible(f"administrators proposed by CDAP: {text}"), err=True)


def _changes(steps: Sequence[Step]) -> list[Step]:
    return [step for step in steps if step.change in (SetupAction.CREATE, SetupAction.UPDATE)]


def _carry_out(steps: Sequence[Step], admin: RangerAdmin) -> None:
    """Carry out the steps; if one fails or is interrupted, say what was done before it."""
    done: list[Step] = []
    for step in steps:
        try:
            service_setup.carry_out([step], admin)
        except (RangerAdminError, KeyboardInterrupt) as e:
            before = ", ".join(other.subject for other in done) or "nothing"
            how = "interrupted, perhaps done" if isinstance(e, KeyboardInterrupt) else "failed"
            click.echo(f"{how}: {step.subject}; done before it: {before}; afterwards run setup again", err=True)
            raise
        done.append(step)
