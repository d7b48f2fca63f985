"""`ranger-cdap shadow report`: what enforcing would change, from the audit of a service that only reports."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from ranger_cdap.audit.verify import lines_of, rotated_files
from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.decision_context import DecisionContext
from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.cdap.answer import EvaluatedPrivilege, evaluate_privilege
from ranger_cdap.cdap.profile import Profile
from ranger_cdap.cli.command import Command, CommandGroup
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.files import reading, write_file
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE, moment_of
from ranger_cdap.cli.plan_apply import apply_needed
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by, policy_files
from ranger_cdap.cli.role_steps import counted
from ranger_cdap.cli.transfer import account
from ranger_cdap.errors import InvalidInput, NotReady, UnsafeGrant
from ranger_cdap.policies.manage.needed_policies import NeededPolicy, needed_policies
from ranger_cdap.policies.manage.strict_text import write_json
from ranger_cdap.questions.shadow_report import Evaluate, ShadowChange, ShadowReport, ShadowRow, Target, gaps

_SHOWN: Final = 100


@click.group("shadow", cls=CommandGroup, examples=("ranger-cdap shadow report",))
def shadow() -> None:
    """Show what enforcing would change, before it is enforced."""


_audit = click.argument("audit", type=FILE, metavar="[AUDIT]...", nargs=-1)


@shadow.command(
    "report",
    cls=Command,
    examples=(
        "ranger-cdap shadow report",
        "ranger-cdap shadow report /archive/records.jsonl.1 /archive/records.jsonl --out gaps.json",
    ),
    exits={
        ExitCode.OK: "enforcing everything would change none of these decisions",
        ExitCode.NO: "it would change some",
        ExitCode.INVALID_INPUT: "nothing shows that: no record is of an operation that is only reported, or lines were "
        "rejected",
        ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY],
    },
)
@_audit
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write the policies that would close the gaps to a file, as JSON.",
)  # fmt: skip
@click.option("--since", metavar="TIME", help="Only records since a date, a time in UTC, or like `7d` (ago).")
@click.option(
    "--accept-allowed", is_flag=True, help="Exit with 0 if nothing is newly denied; what is newly allowed is wanted."
)
@policy_files
@pass_invocation
@click.pass_context
def report_command(
    context: click.Context,
    invocation: Invocation,
    audit: tuple[Path, ...],
    out: Path | None,
    since: str | None,
    accept_allowed: bool,
    files: PolicyFiles | None,
) -> None:
    """Show per user and operation what would change once it is enforced: newly denied, with the missing privilege, and
    newly allowed.

    AUDIT are files of the sink `file`; default: `audit.file` and the files it was rotated to. Only records of
    operations that `[enforce]` reports count. With `enforce.outside = "predecessor"` they are compared with the answer
    that CDAP got from the rule of the Java predecessor, otherwise with `everything is allowed`.

    A denial is marked as closed if current policies give what was missing. Records of versions that did not name what
    is missing are listed by their reason. Lists of entities are not audited.
    """
    found, rows = _found(invocation, audit, files, since)
    policies = _closing(invocation, rows)
    if out is not None:
        write_file(out, write_json({"policies": [policy.document() for policy in policies]}))
    if invocation.as_json:
        invocation.print_json(_document(found, rows, policies))
    else:
        _print(invocation, found, rows, policies)
    counts = (row for row in rows if row.key.change is ShadowChange.DENIED or not accept_allowed)
    if any(not row.closed for row in counts):
        context.exit(ExitCode.NO)
    _require_evidence(found)


@shadow.command(
    "close",
    cls=Command,
    examples=("ranger-cdap shadow close --dry-run",),
    exits={
        ExitCode.OK: "every gap that a policy can close is closed",
        ExitCode.ERROR: "Ranger changed since the plan, or rejected a policy; earlier ones were applied",
        ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY],
    },
)
@_audit
@account
@click.option("--dry-run", is_flag=True, help="Show the changes and exit.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@pass_invocation
def close_command(invocation: Invocation, audit: tuple[Path, ...], ranger_user: str, dry_run: bool, yes: bool) -> None:
    """Give in Ranger what `shadow report` names as missing: to each user, on exactly the entities of the records.

    The changes, and what they change in access, are shown and confirmed first. Read the report before: some of
    what the predecessor allowed may be better denied. For many users, `ranger-cdap roles` is the better tool.
    """
    found, rows = _found(invocation, audit, None, None)
    policies = _closing(invocation, rows)
    if not policies:
        _require_evidence(found)
    apply_needed(invocation, ranger_user, policies, dry_run=dry_run, yes=yes)


def _found(
    invocation: Invocation, audit: tuple[Path, ...], files: PolicyFiles | None, since: str | None
) -> tuple[ShadowReport, tuple[ShadowRow, ...]]:
    """Read the audit, and compare with the policies.

    Raises:
        InvalidInput: there is no file, one cannot be read, or `since` is no time.
        NotReady: there are no policies.
    """
    chosen = audit or tuple(rotated_files(invocation.settings.audit.file))
    if not chosen:
        raise InvalidInput(f"`{invocation.settings.audit.file}` does not exist; nothing was audited there")
    with authorizer_by(invocation, files) as authorizer, invocation.messages.status("reading audit records"):
        begin = moment_of("--since", since, time.time_ns() // 1_000_000, 0)
        found = ShadowReport(invocation.settings.ranger.service, begin)
        for path in chosen:
            _read(found, path)
        return found, tuple(found.by_now(_evaluating(authorizer)))


def _require_evidence(found: ShadowReport) -> None:
    """Refuse to say that nothing would change if the records do not show it.

    Raises:
        InvalidInput: lines were rejected, or none is of an operation that is only reported.
    """
    if found.rejected:
        lines, first = counted(found.rejected, "line"), found.places[0]
        raise InvalidInput(f"the audit does not show that nothing changes: it has {lines} of no record, as at {first}")
    if not found.reported:
        raise InvalidInput(
            "the audit does not show what would change: no record is of an operation that is only reported; see "
            "`[enforce]`"
        )


def _read(found: ShadowReport, path: Path) -> None:
    with reading(path) as file:
        for place, line in lines_of(file, str(path)):
            found.read(place, line)


def _evaluating(authorizer: Authorizer) -> Evaluate:
    """Return what the policies at hand say now, as they decide operations.

    Raises:
        NotReady: there are no policies.
    """
    decider, snapshot = authorizer.decider, authorizer.snapshot
    if snapshot.engine is None:
        raise NotReady(f"there are no policies: {snapshot.reason}")
    config, groups = decider.config, GroupResolver({}, snapshot.groups_of, decider.group_hook)
    now = DecisionContext(snapshot.engine, groups, config.instance, time.time_ns() // 1_000_000)

    def evaluate(user: str, operation: str, entity: Target, actions: tuple[str, ...]) -> EvaluatedPrivilege:
        inherits = config.options.inherit and not _lists(config.profile, operation)
        return evaluate_privilege(user, entity, actions, now.ask, now.names, inherits)

    return evaluate


def _lists(profile: Profile, operation: str) -> bool:
    try:
        return bool(profile.operation(operation).lists)
    except InvalidInput:
        return False


def _closing(invocation: Invocation, rows: Sequence[ShadowRow]) -> tuple[NeededPolicy, ...]:
    """Return the policies that close the open gaps; a user name that is unsafe in a policy is left out, with a note."""
    rights, left_out = [], dict[str, str]()
    for right in gaps(rows):
        try:
            needed_policies([right], invocation.settings.cdap.instance)
        except UnsafeGrant as e:
            left_out[right[0]] = str(e)
        else:
            rights.append(right)
    for why in left_out.values():
        invocation.messages.print(f"note: no policy is proposed: {why}")
    return needed_policies(rights, invocation.settings.cdap.instance)


def _print(
    invocation: Invocation, found: ShadowReport, rows: Sequence[ShadowRow], policies: Sequence[NeededPolicy]
) -> None:
    for change in ShadowChange:
        those = [row for row in rows if row.key.change is change]
        if not those:
            continue
        invocation.console.print(f"{change.value}: {sum(row.count for row in those)}")
        decisive = "missing" if change is ShadowChange.DENIED else "allowed by"
        columns = ["user", "operation", decisive, "count", "last (UTC)", "now"]
        invocation.print_table(columns, [_texts(row) for row in those[:_SHOWN]])
        if (more := len(those) - _SHOWN) > 0:
            invocation.console.print(f"and {more} more rows; --json has them all")
        invocation.console.print()
    against = "the predecessor" if found.compared else "everything being allowed"
    invocation.console.print(
        f"unchanged: {found.unchanged}; compared with {against}; enforced already: {found.enforced}; "
        f"of other services: {found.other_services}; earlier: {found.earlier}; rejected: {found.rejected}"
    )
    for place in found.places[:_SHOWN]:
        invocation.messages.print(f"warning: {place}: not a record of this program")
    if policies:
        count = len(policies)
        invocation.console.print(f"policies that would close the gaps: {count} (`ranger-cdap shadow close` makes them)")


def _texts(row: ShadowRow) -> list[str]:
    key = row.key
    when = datetime.fromtimestamp(row.last / 1000, UTC).strftime("%Y-%m-%d %H:%M")
    now = "" if key.change is ShadowChange.ALLOWED else "allowed" if row.closed else "denied"
    return [key.user, key.operation, key.decisive, str(row.count), when, now]


def _document(found: ShadowReport, rows: Sequence[ShadowRow], policies: Sequence[NeededPolicy]) -> dict[str, object]:
    return {
        "changes": [
            {
                "change": row.key.change.value,
                "user": row.key.user,
                "operation": row.key.operation,
                "type": row.key.type,
                "resource": row.key.resource,
                "missing": [{"actions": one.actions, "policy": one.policy} for one in row.key.missing],
                "allowed_by": None if row.key.change is ShadowChange.DENIED else row.key.policy,
                "action": row.key.action,
                "reason": row.key.reason,
                "gaps": row.gaps,
                "count": row.count,
                "first": row.first,
                "last": row.last,
                "closed": row.closed,
            }
            for row in rows
        ],
        "unchanged": found.unchanged,
        "compared_with_predecessor": found.compared,
        "enforced": found.enforced,
        "other_services": found.other_services,
        "earlier": found.earlier,
        "rejected": found.rejected,
        "rejected_at": [str(place) for place in found.places],
        "policies": [policy.document() for policy in policies],
    }
