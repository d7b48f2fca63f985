"""Input of `ranger-cdap insights`: its options, the policies and groups to decide with, and the facts of an audit."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from ranger_cdap.cli.files import usable
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.parameters import FILE, moment_of
from ranger_cdap.cli.policy_files import WITHOUT_TAGS, PolicyFiles, policy_files
from ranger_cdap.engine import EngineOptions, PolicyEngine
from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.policies.refresh.fixed import FixedPolicies
from ranger_cdap.ranger_model.decode import decode_user_store
from spark_sync.insights.audit_files import is_remote, list_audit
from spark_sync.insights.facts import AuditFacts
from spark_sync.insights.replay import ReplayBasis
from spark_sync.insights.tally import Period
from spark_sync.review.people import read_users
from spark_sync.review.policies import load_policies
from spark_sync.spark.sent_policies import SentPolicies
from spark_sync.spark.session import require_spark, spark_session

_MOST_NAMED: Final = 10


@dataclass(frozen=True, slots=True)
class AuditArguments:
    """Arguments that name an audit, and the policies that decide on it."""

    paths: tuple[str, ...]
    service: str | None
    since: str | None
    until: str | None
    users: Path | None
    files: PolicyFiles | None
    master: str


@dataclass(frozen=True, slots=True)
class DecidingPolicies:
    """Policies that decide on an audit, compiled here too, and the groups of all known users."""

    documents: Documents
    engine: PolicyEngine
    conditions: frozenset[str]
    groups: dict[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class AuditRead:
    """An audit that was read, its period, and the policies that decided on it again; `now` in epoch milliseconds."""

    facts: AuditFacts
    period: Period
    policies: DecidingPolicies
    now: int


def audit_arguments(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the arguments and options of an audit; the command gets them as `arguments`."""

    @functools.wraps(command)
    def with_arguments(
        *args: Any,
        audit: tuple[str, ...],
        service: str | None,
        since: str | None,
        until: str | None,
        users: Path | None,
        files: PolicyFiles | None,
        master: str,
        **more: Any,
    ) -> Any:
        given = AuditArguments(audit, service, since, until, users, files, master)
        return command(*args, arguments=given, **more)

    wrapped: Callable[..., Any] = policy_files(with_arguments)
    for option in (
        click.option(
            "--master", default="local[*]", show_default=True, help="Spark master; ignored under spark-submit."
        ),
        click.option(
            "--users",
            type=FILE,
            metavar="FILE",
            help="Users and their groups (`.jsonl`), beside those of the user store.",
        ),
        click.option(
            "--until", metavar="TIME", help="Only records before this; a date, a time in UTC, or like `7d` (ago)."
        ),
        click.option("--since", metavar="TIME", help="Only records from this on; as --until."),
        click.option("--service", metavar="NAME", help="Only records of this service; default: that of the policies."),
        click.argument("audit", metavar="AUDIT...", nargs=-1, required=True),
    ):
        wrapped = option(wrapped)
    return wrapped


def read_facts(invocation: Invocation, arguments: AuditArguments) -> AuditRead:
    """Read the audit on Spark, with progress; warn of lines that do not count, and of what limits the answers.

    Raises:
        InvalidInput: an argument, the policies or a file cannot be used, or no record counts.
        NotReady: there are no policies.
        SparkMissing, SyncError: Spark is missing or failed.
    """
    require_spark("`ranger-cdap insights`")
    from spark_sync.insights.reading import read_audit
    from spark_sync.spark.task_progress import task_progress

    now = time.time_ns() // 1_000_000
    since, until = moment_of("--since", arguments.since, now, 0), moment_of("--until", arguments.until, now, now)
    if since >= until:
        raise InvalidInput("`--since` is not before `--until`, so there is nothing to read")
    local = [path for path in arguments.paths if not is_remote(path)]
    if local:  # before Spark starts
        list_audit(local)
    policies = deciding_policies(invocation, arguments)
    period = Period(arguments.service or policies.engine.service_name, since, until)
    sent = SentPolicies.of(policies.engine.service_name, policies.documents, policies.conditions)
    basis = ReplayBasis(sent, policies.groups)
    with (
        invocation.messages.status("reading the audit") as shown,
        spark_session(invocation.settings.sync, master=arguments.master) as spark,
    ):
        files = list_audit(arguments.paths, spark)
        with task_progress(spark, shown.update, f"reading the audit: files: {len(files):,}"):
            facts = read_audit(spark, files, period, basis)
    _warn(invocation, facts)
    if not facts.uses:
        raise InvalidInput(_nothing(facts, period))
    return AuditRead(facts, period, policies, now)


def deciding_policies(invocation: Invocation, arguments: AuditArguments) -> DecidingPolicies:
    """Return the policies of the files, or those currently in effect, with the groups of all known users.

    Raises:
        InvalidInput: a file cannot be used.
        NotReady: there are no policies.
    """
    service = invocation.settings.ranger.service
    plugins = plugin_manager(invocation.settings)
    makers = condition_factories(plugins)
    files = arguments.files
    if files is not None:
        with usable(files.policies):
            documents = files.read(service)
            fixed = FixedPolicies.of(documents, service=service, options=EngineOptions(conditions=makers))
        engine = fixed.snapshot.engine
        if documents.tags is not None and files.tags is None:
            invocation.messages.print(WITHOUT_TAGS)
    else:
        effective = load_policies(invocation.settings)
        documents, engine = effective.documents, effective.snapshot.engine
        if effective.snapshot.reason:
            invocation.messages.print(f"warning: the policies may be old: {effective.snapshot.reason}")
    if engine is None:
        raise NotReady("there are no policies to decide by")
    if engine.problems:
        invocation.messages.print(f"warning: problems with policies: {len(engine.problems)}; see `policies lint`")
    if invocation.settings.cdap.inherit:
        invocation.messages.print(
            "warning: `cdap.inherit` is on; an access that was inherited counts as not allowed now"
        )
    if plugins.hook.ranger_cdap_groups.get_hookimpls():
        invocation.messages.print("warning: groups that plugins supply are not used; give `--users`")
    groups = read_users(arguments.users) if arguments.users is not None else {}
    if documents.users is not None:
        store = decode_user_store(documents.users)
        for user in {*store.user_group_mapping, *store.user_attr_mapping}:
            groups[user] = groups.get(user, frozenset()) | frozenset(store.user_group_mapping.get(user, ()))
    return DecidingPolicies(documents, engine, frozenset(makers), groups)


def named_some(names: tuple[str, ...]) -> str:
    """Return the first of some names, and how many more there are."""
    more = len(names) - _MOST_NAMED
    return ", ".join(f"`{name}`" for name in names[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _warn(invocation: Invocation, facts: AuditFacts) -> None:
    lines = facts.lines
    if lines.rejected:
        first = facts.rejected[0]
        invocation.messages.print(
            f"warning: rejected {lines.rejected:,} of {lines.lines:,} lines; the first is `{first.file}`, line "
            f"{first.line}: {first.reason}"
        )
    if facts.not_replayed:
        reasons = "; ".join(f"{count:,}: {why}" for why, count in facts.not_replayed.items())
        invocation.messages.print(f"warning: accesses that were not decided again: {reasons}")


def _nothing(facts: AuditFacts, period: Period) -> str:
    lines = facts.lines
    return (
        f"no record of service `{period.service}` counts: of {lines.lines:,} lines, {lines.others:,} are of other "
        f"services, {lines.outside:,} outside of the period, and {lines.rejected:,} were rejected"
    )
