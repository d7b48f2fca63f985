"""`ranger-cdap who`: the holders of access to an entity."""

from __future__ import annotations

import click

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cli.access_holders import AccessHolder, access_holders
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import ENTITY
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.cli.policy_index import PolicyIndex


@click.command(
    cls=Command,
    examples=("ranger-cdap who dataset:ns1.purchases", "ranger-cdap who namespace:ns1 --policies download.json --json"),
    exits={ExitCode.OK: "shown, also if there is no one", ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY]},
)
@click.argument("entity", type=ENTITY, metavar="ENTITY")
@policy_files
@pass_invocation
def who(invocation: Invocation, entity: EntityId, files: PolicyFiles | None) -> None:
    """Show who has which access to ENTITY and by which policy: the group `public` (`everybody`), all users, groups and
    roles that policies and roles name, and the users that Ranger's user store puts into one of these groups.

    The row of a group or role is for a user with no other groups or roles. The row of a user counts only the groups of
    Ranger's user store (`plugin.use_ranger_groups`) that it lists. `conditional` depends on a condition, a time or a
    tag. The access `_admin` is the right to edit policies on the entity.
    """
    with authorizer_by(invocation, files) as authorizer:
        index = PolicyIndex.of(authorizer.snapshot.documents)
        found = list(access_holders(authorizer, entity, index))
    if invocation.as_json:
        invocation.print_json([_document(one, index) for one in found])
        return
    rows = [
        [one.kind, one.name, access, entry.status.value, index.named(entry.policy_id), ", ".join(one.groups)]
        for one in found
        for access, entry in one.accesses.items()
    ]
    if not rows:
        invocation.console.print(f"no one has any access to {entity}")
        return
    invocation.print_table(["who", "name", "access", "", "by", "in groups"], rows)


def _document(one: AccessHolder, index: PolicyIndex) -> dict[str, object]:
    return {
        "kind": one.kind,
        "name": one.name,
        "groups": one.groups,
        "accesses": {
            access: {"standing": entry.status.value, "policy": index.document(entry.policy_id)}
            for access, entry in one.accesses.items()
        },
    }
