"""`ranger-cdap policies apply`: make Ranger's policies those of a file or of a directory under version control."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click
import msgspec

from ranger_cdap.authz.policy_index import readable
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.files import read_json
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.cli.policy_files import PolicyFiles
from ranger_cdap.cli.ranger_changes import CHANGE_EXITS, change_ranger, changing, documents
from ranger_cdap.errors import ConflictingChange, InvalidInput
from ranger_cdap.ranger.changes.carry_out import require_receivers
from ranger_cdap.ranger.changes.step import Step
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger_model.service_def import ServiceDef
from ranger_cdap.tools.analysis.policy_zones import PolicyZones
from ranger_cdap.tools.cli.export import wanted_policies
from ranger_cdap.tools.policies.change_plan import change_plan
from ranger_cdap.tools.policies.creator_grants import CreatorGrants
from servicedef import service_definition


@click.command(
    "apply",
    cls=Command,
    examples=(
        "ranger-cdap policies apply policies --delete --dry-run",
        "ranger-cdap policies apply policies --delete --plan plan.json --yes",
    ),
    exits=CHANGE_EXITS,
)
@changing
@click.option("--delete", is_flag=True, help="Delete Ranger's policies that are not in WHICH.")
@click.option(
    "--plan", "planned", type=FILE, metavar="FILE", help="Refuse any plan but that of FILE, from `--dry-run --json`."
)
@wanted_policies
@pass_invocation
def apply_command(
    invocation: Invocation,
    ranger_user: str,
    delete: bool,
    dry_run: bool,
    planned: Path | None,
    yes: bool,
    files: PolicyFiles,
) -> None:
    """Make Ranger's policies match WHICH: create, update and rename policies, and with --delete remove all others.

    WHICH is a FILE or DIR of policies, or `history:7d` for what this host used 7 days ago. The plan is shown and
    confirmed first; nothing is done if Ranger changes in the meantime. Policies are replaced as a whole. Grants of the
    sync job are counted and never changed. If Ranger rejects a policy, the command stops and names it; run it again to
    continue.
    """
    expected = None if planned is None else read_json(planned)
    wanted = _wanted(invocation, files, delete=delete)
    service, sync = invocation.settings.ranger.service, invocation.settings.sync
    grants = CreatorGrants(sync.delegate_admin)

    def plan(admin: RangerAdmin) -> Sequence[Step]:
        found = change_plan(wanted.policies, admin.policy_documents(service), delete=delete, grants=grants)
        if expected is not None and expected != documents(found.drift):
            raise ConflictingChange(
                f"Ranger or `{files}` changed since the plan `{planned}` was made; nothing was done"
            )
        require_receivers([step for step in found.drift if step.changes], admin)
        counts.update(grants=found.grants, left_out=found.left_out)
        zones = PolicyZones.of(admin.security_zones(service), msgspec.convert(service_definition(), ServiceDef))
        return [_with_effect(step, zones) for step in found.drift]

    counts: dict[str, int] = {}
    change_ranger(
        invocation,
        ranger_user,
        plan,
        dry_run=dry_run,
        yes=yes,
        show=lambda steps: invocation.show(documents(steps), _texts(steps, **counts)),
    )


def _wanted(invocation: Invocation, files: PolicyFiles, *, delete: bool) -> PolicyCollection:
    """Return the policies to be.

    Raises:
        InvalidInput: those of another service would replace all, or all would be deleted.
    """
    wanted, service = files.collection(invocation, invocation.messages.print), invocation.settings.ranger.service
    if delete and wanted.service.service not in ("", service):
        raise InvalidInput(
            f"`{files}` has the policies of service `{wanted.service.service}`, and `--delete` would replace those of "
            f"`{service}`, which is `ranger.service`"
        )
    if delete and not wanted.policies:
        raise InvalidInput(f"`{files}` has no policies, and `--delete` would delete all of service `{service}`")
    return wanted


def _with_effect(step: Step, zones: PolicyZones) -> Step:
    """Return the step; of a policy that will have no effect in its zone, with the reason."""
    wanted = [msgspec.Raw(msgspec.json.encode(step.wanted))] if step.changes and step.wanted else []
    reasons = (zones.without_effect(policy) for policy in readable(wanted))
    return replace(step, detail="; ".join(filter(None, (step.detail, *reasons))))


def _texts(steps: Sequence[Step], grants: int, left_out: int) -> Iterator[str]:
    yield from map(str, steps)
    if grants:
        yield f"grants of the sync job, which stay: {grants}"
    if left_out:
        yield f"grants of the sync job in the files, which are left out: {left_out}; the job writes its own"
    if not steps:
        yield "nothing to do: Ranger has these policies and no others"
