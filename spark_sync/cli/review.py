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
from ranger_cdap.policies.refresh.refresh_state import PolicyState
from spark_sync.review.answers import basis
from spark_sync.review.entities import read_entities
from spark_sync.review.people import named_users, people, read_users, stored_users
from spark_sync.review.policies import EffectivePolicies, load_policies
from spark_sync.review.report import ReviewReport
from spark_sync.spark.session import require_spark, spark_session

_OUTSIDE = "(outside of namespaces)"


@click.command(
    "review",
    cls=Command,
    examples=(
        "ranger-cdap review --inventory inventory.jsonl --out /var/lib/ranger-cdap/review/2026-11",
        "ranger-cdap review --inventory inventory.jsonl --users people.txt --out hdfs://namenode/review --from-cache",
    ),
    exits={ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY]},
)
@click.option(
    "--inventory",
    "--entities",
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
    from_cache: bool,
    master: str,
) -> None:
    """Answer on Spark which users have which of READ, WRITE, ADMIN and EXECUTE on which entities.

    Writes every answer as Parquet to DIR/answers and a summary by namespace to DIR/summary, and shows the summary.
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
    decides = basis(
        settings.ranger.service, settings.cdap.instance, in_force.documents, in_force.conditions, asked, now
    )
    version = in_force.snapshot.versions.policies
    answers = f"{len(wanted):,} entities for {len(asked):,} users"
    with (
        invocation.messages.status(f"asking about {answers}") as shown,
        spark_session(settings.sync, master=master) as spark,
        task_progress(spark, shown.update, f"asking about {answers}"),
    ):
        report = review(spark, decides, wanted, out, policy_version=version)
    if invocation.as_json:
        invocation.print_json(to_json(report))
    else:
        print_review(invocation, report)


def print_review(invocation: Invocation, report: ReviewReport) -> None:
    """Print a review: a line per namespace, and the location of the answers."""
    columns = ["namespace", "entities", "users", "answers", "allowed", "READ", "WRITE", "ADMIN", "EXECUTE"]
    invocation.print_table(
        [*columns, "conditional"],
        [
            [_OUTSIDE if one.namespace is None else one.namespace, *(f"{n:,}" for n in _numbers(asdict(one)))]
            for one in report.namespaces
        ],
    )
    invocation.console.print(
        f"{report.users:,} users on {report.entities:,} entities of `{report.instance}`, by policies of version"
        f" {report.policy_version}: {report.answers:,} answers, {report.allowed:,} of them allow"
    )
    invocation.console.print(f"answers: {report.answers_path}\nsummary: {report.summary_path}")


def to_json(report: ReviewReport) -> dict[str, object]:
    """A review for programs."""
    document = asdict(report)
    document["time"] = datetime.fromtimestamp(document.pop("now") / 1000, UTC).isoformat(timespec="milliseconds")
    return document


def _numbers(summary: Mapping[str, int]) -> list[int]:
    return [number for name, number in summary.items() if name != "namespace"]


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
