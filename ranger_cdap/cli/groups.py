"""`ranger-cdap groups`: the groups of a user by each source, and what failed."""

from __future__ import annotations

from collections.abc import Sequence

import click
from msgspec import to_builtins

from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.authz.known_names import KnownNames
from ranger_cdap.authz.policy_index import PolicyIndex
from ranger_cdap.authz.user_groups import SourceAnswer, groups_by_source
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files


@click.command(
    "groups",
    cls=Command,
    examples=("ranger-cdap groups alice", "ranger-cdap groups alice --policies download.json --json"),
    exits={
        ExitCode.OK: "shown, also if there are none",
        ExitCode.NO: "shown, but a lookup failed: groups are unknown, and a deny that names any group applies",
    },
)
@click.argument("user")
@policy_files
@pass_invocation
@click.pass_context
def groups_command(context: click.Context, invocation: Invocation, user: str, files: PolicyFiles | None) -> None:
    """Show the groups of USER by each source: Ranger's user store, the sources of `[groups]`, and plugins.

    Every source is queried now. Decisions cache an answer for `groups.ttl` seconds. Groups that CDAP passes with a
    request are added to these.
    """
    with authorizer_by(invocation, files) as authorizer:
        answers = list(groups_by_source(authorizer, invocation.settings, user))
        membership = GroupResolver.of(authorizer.snapshot, authorizer.decider.group_hook).membership(user)
        unknown = KnownNames.of(authorizer, PolicyIndex.of(authorizer.snapshot.documents)).unknown((user,), ())
    invocation.warn_of(unknown)
    if invocation.as_json:
        invocation.print_json(
            {
                "user": user,
                "known": membership.known,
                "unknown": to_builtins(unknown),
                "groups": sorted(membership.groups),
                "sources": [
                    {
                        "source": one.source,
                        "groups": list(one.groups),
                        "knows_user": one.knows_user,
                        "milliseconds": one.milliseconds,
                        "problem": one.problem,
                    }
                    for one in answers
                ],
            }
        )
    else:
        rows = [[one.source, _listed(one.groups) or _none(one), f"{one.milliseconds:g}"] for one in answers]
        invocation.print_table(["source", "groups", "ms"], rows)
        in_all = _listed(sorted(membership.groups)) or "no group"
        invocation.console.print(f"\n{user} is in {in_all}")
        if not membership.known:
            invocation.messages.print(
                "warning: a lookup failed, so the user also counts as a member of every group named in a deny"
            )
    context.exit(ExitCode.OK if membership.known else ExitCode.NO)


def _listed(groups: Sequence[str]) -> str:
    return ", ".join(f'"{group}"' if "," in group else group for group in groups)


def _none(answer: SourceAnswer) -> str:
    return f"({answer.problem})" if answer.problem else "(no such user)" if answer.knows_user is False else "(none)"
