"""`ranger-cdap what`: all access of one user, with the items that give it and those that take it away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

import click

from ranger_cdap.analysis.reach_rows import ReachRow
from ranger_cdap.cdap.grant import CREATORS_LABEL, is_creators_policy
from ranger_cdap.cli.access_text import blocks, wrapped
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import GROUPS
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.questions.analysis_documents import user_document
from ranger_cdap.questions.known_user import KnownUser, PolicyView, access_types
from ranger_cdap.questions.reach_questions import ReachAnswer, what_user_reaches

MOST_GRANTS: Final = 5
"""Rows of the sync job's policies that are shown one by one; more are counted, unless `--all`."""

CONTRADICTED: Final = "an engine contradicts the analysis, which is a fault of the analysis"
"""Meaning of the exit code 1 of commands with rows of reach."""


@click.command(
    cls=Command,
    examples=(
        "ranger-cdap what alice",
        "ranger-cdap what alice --group etl --access write --policies download.json --json",
    ),
    exits={
        ExitCode.OK: "shown, also if there is nothing",
        ExitCode.ERROR: CONTRADICTED,
        ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY],
    },
)
@click.argument("user")
@GROUPS
@click.option("--access", "accesses", multiple=True, metavar="TYPE", help="Only this access type. Repeatable.")
@click.option("--all", "all_", is_flag=True, help="Show each policy of the sync job, however many there are.")
@policy_files
@pass_invocation
@click.pass_context
def what(
    context: click.Context,
    invocation: Invocation,
    user: str,
    groups: tuple[str, ...],
    accesses: tuple[str, ...],
    all_: bool,
    files: PolicyFiles | None,
) -> None:
    """Show all that USER has access to, by which policy and item, and as whom: themself, a group, a role or everyone;
    then the access that a denial or an exception takes away.

    Groups are those of Ranger's user store (`plugin.use_ranger_groups`), of plugins and of `--group`. An access that
    several items allow is shown with the first of them: `ranger-cdap path` shows all. The access `_admin` is the right
    to edit policies. Each row was confirmed by evaluating a request, unless it says what is undecided.
    """
    with authorizer_by(invocation, files) as authorizer:
        view = PolicyView.of(authorizer)
        wanted = access_types(accesses, view.engine)
        known = KnownUser.of(authorizer, view, user, groups)
    for note in (*known.notes, *view.notes):
        invocation.messages.print(note)
    found = what_user_reaches(view, known, wanted)
    if invocation.as_json:
        invocation.print_json(user_document(view, known, found))
    else:
        for line in _lines(view, known, found.allowed, found.denied, None if all_ else MOST_GRANTS):
            click.echo(line)
    context.exit(exit_code(invocation, found))


def exit_code(invocation: Invocation, found: ReachAnswer) -> ExitCode:
    """Return the exit code of a search, after naming the requests that the engine decides otherwise."""
    for sentence in found.errors:
        invocation.messages.print(sentence)
    return ExitCode.ERROR if found.errors else ExitCode.OK


def _lines(
    view: PolicyView, known: KnownUser, allowed: Sequence[ReachRow], denied: Sequence[ReachRow], most: int | None
) -> Iterator[str]:
    yield from wrapped(str(known))
    grants = [row for row in allowed if _is_grant(row, view)]
    counted = grants if most is not None and len(grants) > most else []
    shown = [row for row in allowed if row not in counted]

    def head(row: ReachRow, places: Sequence[str]) -> str:
        may = "may have " if not row.witnesses else ""
        return f"{may}{', '.join(row.accesses)} on {', '.join(places)}"

    def by(row: ReachRow) -> str:
        who = " or ".join(known.through(principal, view.roles) for principal in row.who)
        return f"by {row.by}" + (f", as {who}" if who and row.policy_id is not None else "")

    yield "allowed" if allowed else "allowed: nothing"
    for line in blocks(shown, head, by):
        yield f"  {line}"
    if counted:
        for line in _summary(counted):
            yield f"  {line}"
    if denied:
        yield "denied, though other items allow it"
        for line in blocks(denied, head, by):
            yield f"  {line}"


def _is_grant(row: ReachRow, view: PolicyView) -> bool:
    policy = None if row.policy_id is None else view.index.policies.get(row.policy_id)
    return policy is not None and is_creators_policy(policy)


def _summary(rows: Sequence[ReachRow]) -> Iterator[str]:
    """Yield the number of entities by access types, of policies that have the sync job's label."""
    counts = Counter((row.accesses, row.path[-1]) for row in rows)
    by_accesses: dict[tuple[str, ...], list[str]] = {}
    for (accesses, kind), count in sorted(counts.items()):
        by_accesses.setdefault(accesses, []).append(f"{count} of type {kind}")
    for accesses, kinds in by_accesses.items():
        yield from wrapped(f"{', '.join(accesses)} on {', '.join(kinds)}")
    policies = len({row.policy_id for row in rows})
    yield from wrapped(f"by {policies} policies labelled `{CREATORS_LABEL}`; `--all` shows each", "  ")
