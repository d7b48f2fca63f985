"""`ranger-cdap who`: who can do what on an entity?"""

from __future__ import annotations

import click

from ranger_cdap.cdap.entity import EntityId, parse_entity
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.question import open_authorizer
from ranger_cdap.engine import AccessEntry


@click.command()
@click.argument("entity", type=parse_entity, metavar="ENTITY")
@pass_invocation
def who(invocation: Invocation, entity: EntityId) -> None:
    """Show who has which access to ENTITY, among all users, groups and roles that policies name.

    A row is for somebody who is nothing else; `conditional` depends on a condition, a time or a tag.

    Exit code: 0 shown, 3 invalid input, 4 not ready.
    """
    with open_authorizer(invocation) as authorizer:
        table = authorizer.who(entity)
    people = {
        ("everybody", ""): table.everybody,
        **{("user", name): row for name, row in table.users.items()},
        **{("group", name): row for name, row in table.groups.items()},
        **{("role", name): row for name, row in table.roles.items()},
    }
    if invocation.as_json:
        invocation.print_json(
            [
                {"kind": kind, "name": name, "accesses": {a: _entry(e) for a, e in row.items()}}
                for (kind, name), row in people.items()
            ]
        )
        return
    rows = [
        [kind, name, access, entry.standing.value, f"policy {entry.policy_id}" if entry.policy_id >= 0 else ""]
        for (kind, name), row in people.items()
        for access, entry in row.items()
    ]
    if not rows:
        invocation.console.print(f"nobody has any access to {entity}")
        return
    invocation.print_table(["", "name", "access", "", "by"], rows)


def _entry(entry: AccessEntry) -> dict[str, object]:
    return {"standing": entry.standing.value, "policy": entry.policy_id}
