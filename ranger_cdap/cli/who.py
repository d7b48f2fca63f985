"""`ranger-cdap who`: the holders of access to an entity, or to the entities of a pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ranger_cdap.analysis.reach_rows import ReachRow
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.pattern import EntityPattern, parse_pattern
from ranger_cdap.cli.access_text import blocks
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import EntityParameter
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.cli.what import CONTRADICTED, exit_code
from ranger_cdap.engine import AccessEntry
from ranger_cdap.questions.access_holders import AccessHolder, access_holders
from ranger_cdap.questions.analysis_documents import holder_document, pattern_document
from ranger_cdap.questions.known_user import PolicyView, access_types
from ranger_cdap.questions.policy_index import PolicyIndex
from ranger_cdap.questions.reach_questions import who_reaches_pattern


class EntityPatternParameter(EntityParameter):
    """An entity, or a pattern of entities."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the entity or the pattern.

        Raises:
            InvalidInput: the text is neither.
        """
        return parse_pattern(value) if isinstance(value, str) else value


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap who dataset:ns1.purchases",
        "ranger-cdap who --access read 'dataset:ns1.sales*'",
        "ranger-cdap who namespace:ns1 --policies download.json --json",
    ),
    exits={
        ExitCode.OK: "shown, also if there is no one",
        ExitCode.ERROR: CONTRADICTED,
        ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY],
    },
)
@click.argument("entity", type=EntityPatternParameter(), metavar="ENTITY")
@click.option("--access", "accesses", multiple=True, metavar="TYPE", help="Only this access type. Repeatable.")
@policy_files
@pass_invocation
@click.pass_context
def who(
    context: click.Context,
    invocation: Invocation,
    entity: EntityId | EntityPattern,
    accesses: tuple[str, ...],
    files: PolicyFiles | None,
) -> None:
    """Show who has which access to ENTITY and by which policy: the group `public` (`everybody`), all users, groups and
    roles that policies and roles name, and the users that Ranger's user store puts into one of these groups.

    The row of a group or role is for a user with no other groups or roles. The row of a user counts only the groups of
    Ranger's user store (`plugin.use_ranger_groups`) that it lists. An access that a condition, a time or a tag decides
    says on what it depends. The access `_admin` is the right to edit policies on the entity.

    ENTITY may be a pattern, as `dataset:ns1.sales*`: then each row is an item of a policy, and the part of the pattern
    on which it allows access. What several items allow is shown with the first of them.
    """
    if isinstance(entity, EntityPattern):
        context.exit(_of_pattern(invocation, entity, accesses, files))
    with authorizer_by(invocation, files) as authorizer:
        index = PolicyIndex.of(authorizer.snapshot.documents)
        holders = access_holders(authorizer, entity, index)
        engine = authorizer.snapshot.engine
        wanted = access_types(accesses, engine) if engine is not None else ()
        found = list(holders)
    if invocation.as_json:
        invocation.print_json([holder_document(one, index, wanted) for one in found])
        return
    rows = [
        [one.kind, one.name, access, _status(one, access, entry), index.named(entry.policy_id), ", ".join(one.groups)]
        for one in found
        for access, entry in one.accesses.items()
        if access in wanted
    ]
    if not rows:
        invocation.console.print(f"no one has any access to {entity}")
        return
    invocation.print_table(["who", "name", "access", "", "by", "in groups"], rows)


def _status(one: AccessHolder, access: str, entry: AccessEntry) -> str:
    depends = one.depends.get(access)
    return f"allowed {depends}" if depends else entry.status.value


def _of_pattern(
    invocation: Invocation, pattern: EntityPattern, accesses: Sequence[str], files: PolicyFiles | None
) -> ExitCode:
    """Show who has access to entities of a pattern."""
    with authorizer_by(invocation, files) as authorizer:
        view = PolicyView.of(authorizer)
        wanted = access_types(accesses, view.engine)
    for note in view.notes:
        invocation.messages.print(note)
    found = who_reaches_pattern(view, pattern, wanted)
    if invocation.as_json:
        invocation.print_json(pattern_document(found))
    elif not found.allowed:
        invocation.console.print(f"no one has any access to {pattern}")
    else:
        for line in blocks(found.allowed, _head, lambda row: f"by {row.by}"):
            click.echo(line)
    return exit_code(invocation, found)


def _head(row: ReachRow, places: Sequence[str]) -> str:
    verb = "has" if len(row.who) == 1 else "have"
    may = f"{verb} " if row.witnesses else "may have "
    where = f"all of {row.place}" if row.whole else ", ".join(places)
    return f"{', '.join(row.who)} {may}{', '.join(row.accesses)} on {where}"
