"""`ranger-cdap review`: the access review of a whole inventory."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.refresh.ended import without_ended
from ranger_cdap.policies.refresh.refresh_state import PolicyState
from ranger_cdap.questions.display import visible
from spark_sync.review.answers import Basis
from spark_sync.review.entities import read_entities
from spark_sync.review.people import named_users, people, read_users, stored_users
from spark_sync.review.policies import EffectivePolicies, load_policies
from spark_sync.review.report import ReviewComparison, ReviewReport
from spark_sync.spark.sent_policies import SentPolicies
from spark_sync.spark.session import require_spark, spark_session

_OUTSIDE = "(outside of namespaces)"


@click.command(
    "review",
    cls=Command,
    examples=(
        "ranger-cdap review --inventory inventory.jsonl --out /var/lib/ranger-cdap/review/2026-11",
        "ranger-cdap review --inventory inventory.jsonl --out review/2026-12 --compare review/2026-11",
        "ranger-cdap review --inventory inventory.jsonl --users people.txt --out hdfs://namenode/review --from-cache",
    ),
    exits={ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY]},
)
@click.option(
    "--inventory",
    "entities",
    type=FILE,
    metavar="FILE",
    required=True,
    help="Inventory (`sync inventory`), or entities as JSON lines.",
)
@click.option(
    "--users", type=FILE, metavar="FILE", help="Users, one per line; or `.jsonl` with users and their groups."
)
@click.option(
    "--users-from",
    type=click.Choice(["policies", "ranger"]),
    default="policies",
    show_default=True,
    help="Without --users: users named by policies, or all users of Ranger's user store.",
)
@click.option(
    "--out",
    metavar="DIR",
    required=True,
    help="A new directory for the answers, as Spark names it (hdfs://…, s3a://…).",
)
@click.option(
    "--compare",
    metavar="DIR",
    help="The directory of a former review: show what changed since, and write it to DIR/changes of `--out`.",
)
@click.option("--from-cache", is_flag=True, help="Use the plugin's cache instead of Ranger Admin.")
@click.option("--master", default="local[*]", show_default=True, help="Spark master; ignored under spark-submit.")
@pass_invocation
@click.pass_context
def review_command(
    context: click.Context,
    invocation: Invocation,
    entities: Path,
    users: Path | None,
    users_from: str,
    out: str,
    compare: str | None,
    from_cache: bool,
    master: str,
) -> None:
    """Answer on Spark which users have which of READ, WRITE, ADMIN and EXECUTE on which entities.

    Writes every answer as Parquet to DIR/answers and a summary by namespace to DIR/summary, and shows the summary.
    With `--compare`, DIR/changes has the answers that a former review gave otherwise.
    """
    if users is not None and context.get_parameter_source("users_from") is click.core.ParameterSource.COMMANDLINE:
        raise InvalidInput("`--users` and `--users-from` exclude each other; give one of them")
    require_spark("the review")
    from spark_sync.review.review import review
    from spark_sync.spark.task_progress import task_progress

    settings = invocation.settings
    now = time.time_ns() // 1_000_000
    wanted = read_entities(entities, instance=settings.cdap.instance, now=now)
    passed = read_users(users) if users is not None else {}
    in_force = load_policies(settings, from_cache=from_cache)
    _warn(invocation, in_force)
    names = passed or _known_users(in_force, users_from)
    asked = people(names, passed, in_force.snapshot.groups_of, in_force.groups)
    if doubtful := sum(not person.groups_known for person in asked):
        invocation.messages.print(f"warning: a plugin could not look up the groups of {doubtful} users")
    in_time = without_ended(in_force.documents, now)
    sent = SentPolicies.of(settings.ranger.service, in_time, in_force.conditions)
    decides = Basis(settings.cdap.instance, sent, asked, now)
    version = in_force.snapshot.versions.policies
    answers = f"{len(wanted):,} entities for {len(asked):,} users"
    with (
        invocation.messages.status(f"asking about {answers}") as shown,
        spark_session(settings.sync, master=master) as spark,
        task_progress(spark, shown.update, f"asking about {answers}"),
    ):
        report = review(spark, decides, wanted, out, policy_version=version, compare=compare)
    if invocation.as_json:
        invocation.print_json(to_json(report))
    else:
        print_review(invocation, report)


def print_review(invocation: Invocation, report: ReviewReport) -> None:
    """Print a review: a line per namespace, the location of the answers, and what changed."""
    columns = ["namespace", "entities", "users", "answers", "allowed", "READ", "WRITE", "ADMIN", "EXECUTE"]
    columns.append("conditional")
    if report.compared is not None:
        columns += ["gained", "lost", *(["changed"] if report.compared.with_conditions else [])]
    invocation.print_table(
        columns,
        [
            [_OUTSIDE if one.namespace is None else one.namespace, *(f"{n:,}" for n in _numbers(asdict(one)))]
            for one in report.namespaces
        ],
    )
    invocation.console.print(
        f"{report.users:,} users on {report.entities:,} entities of `{report.instance}`, by policies of version"
        f" {report.policy_version}: {report.answers:,} answers, {report.allowed:,} of them allow"
    )
    if report.compared is not None:
        _print_comparison(invocation, report, report.compared)
    invocation.console.print(f"answers: {report.answers_path}\nsummary: {report.summary_path}")


def _print_comparison(invocation: Invocation, report: ReviewReport, compared: ReviewComparison) -> None:
    gained, lost, changed = (
        sum(getattr(one, name) or 0 for one in report.namespaces) for name in ("gained", "lost", "changed")
    )
    conditions = f", {changed:,} depend on something else" if compared.with_conditions else ""
    invocation.console.print(f"answers since `{compared.former}`: {gained:,} gained, {lost:,} lost{conditions}")
    for what, count, names in (
        ("new entities", compared.new_entities, compared.new_entity_names),
        ("entities gone", compared.gone_entities, compared.gone_entity_names),
        ("new users", compared.new_users, compared.new_user_names),
        ("users gone", compared.gone_users, compared.gone_user_names),
    ):
        if count:
            more = f" and {count - len(names):,} more" if count > len(names) else ""
            invocation.console.print(f"{what}: {', '.join(visible(name, keep='') for name in names)}{more}")
    if not compared.with_conditions:
        invocation.messages.print(
            f"note: `{compared.former}` was written without what answers depend on, so conditions are not compared"
        )
    invocation.console.print(f"changes: {compared.changes_path}")


def to_json(report: ReviewReport) -> dict[str, object]:
    """A review for programs."""
    document = asdict(report)
    document["time"] = datetime.fromtimestamp(document.pop("now") / 1000, UTC).isoformat(timespec="milliseconds")
    return document


def _numbers(summary: Mapping[str, int]) -> list[int]:
    return [number for name, number in summary.items() if name != "namespace" and number is not None]


def _known_users(in_force: EffectivePolicies, users_from: str) -> frozenset[str]:
    find = stored_users if users_from == "ranger" else named_users
    found = find(in_force.documents)
    if not found:
        raise InvalidInput(f"no users are known from {users_from}, so there is nothing to review; give `--users`")
    return found


def _warn(invocation: Invocation, in_force: EffectivePolicies) -> None:
    snapshot = in_force.snapshot
    if snapshot.state is not PolicyState.FRESH:
        invocation.messages.print(
            f"warning: the policies of the cache decide ({snapshot.state.value}): {snapshot.reason}"
        )
    if snapshot.cache_problem:
        invocation.messages.print(f"warning: {snapshot.cache_problem}")
    if snapshot.engine is not None and (problems := len(snapshot.engine.problems)):
        invocation.messages.print(
            f"warning: problems with policies: {problems}; `ranger-cdap policies lint` shows them"
        )
