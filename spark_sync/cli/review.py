"""`ranger-cdap review`: the access review of a whole inventory."""

from __future__ import annotations

import time
from dataclasses import asdict, astuple
from datetime import UTC, datetime
from pathlib import Path

import click

from ranger_cdap.cdap.inventory import read_entities
from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.errors import InvalidInput
from ranger_cdap.policies.refresh.ended import without_ended
from ranger_cdap.policies.refresh.refresh_state import PolicyState
from spark_sync.review.answers import Basis
from spark_sync.review.people import named_users, people, read_users
from spark_sync.review.policies import EffectivePolicies, load_policies
from spark_sync.review.report import ReviewReport
from spark_sync.spark.sent_policies import SentPolicies
from spark_sync.spark.session import require_spark, spark_session

_OUTSIDE = "(outside of namespaces)"


@click.command(
    "review",
    cls=Command,
    examples=(
        "ranger-cdap review --inventory inventory.jsonl --out /var/lib/ranger-cdap/review/2026-11",
        "ranger-cdap review --inventory inventory.jsonl --users people.txt --out hdfs://namenode/review",
    ),
    exits={ExitCode.NOT_READY: MEANINGS[ExitCode.NOT_READY]},
)
@click.option(
    "--inventory",
    "entities",
    type=FILE,
    metavar="FILE",
    required=True,
    help="Inventory (`sync inventory`).",
)
@click.option(
    "--users",
    type=FILE,
    metavar="FILE",
    help="Users, one per line; or `.jsonl` with users and their groups. Default: those whom policies name.",
)
@click.option(
    "--out",
    metavar="DIR",
    required=True,
    help="A new directory for the answers, as Spark names it (hdfs://…, s3a://…).",
)
@click.option("--master", default="local[*]", show_default=True, help="Spark master; ignored under spark-submit.")
@pass_invocation
def review_command(invocation: Invocation, entities: Path, users: Path | None, out: str, master: str) -> None:
    """Answer on Spark which users have which of READ, WRITE, ADMIN and EXECUTE on which entities.

    Writes every answer as Parquet to DIR/answers and a summary by namespace to DIR/summary, and shows the summary.
    """
    require_spark("the review")
    from spark_sync.review.review import review
    from spark_sync.spark.task_progress import task_progress

    settings = invocation.settings
    now = time.time_ns() // 1_000_000
    wanted = read_entities(entities, instance=settings.cdap.instance, now=now)
    passed = read_users(users) if users is not None else {}
    in_force = load_policies(settings)
    _warn(invocation, in_force)
    names = passed or _known_users(in_force)
    asked = people(names, passed, in_force.snapshot, in_force.groups)
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
        report = review(spark, decides, wanted, out, policy_version=version)
    if invocation.as_json:
        invocation.print_json(to_json(report))
    else:
        print_review(invocation, report)


def print_review(invocation: Invocation, report: ReviewReport) -> None:
    """Print a review: a line per namespace, and the location of the answers."""
    columns = ["namespace", "entities", "users", "answers", "allowed", "READ", "WRITE", "ADMIN", "EXECUTE"]
    rows = []
    for one in report.namespaces:
        _, *numbers = astuple(one)
        rows.append([_OUTSIDE if one.namespace is None else one.namespace, *(f"{number:,}" for number in numbers)])
    invocation.print_table([*columns, "conditional"], rows)
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


def _known_users(in_force: EffectivePolicies) -> frozenset[str]:
    found = named_users(in_force.documents)
    if not found:
        raise InvalidInput("policies name no users, so there is nothing to review; give `--users`")
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
