"""`ranger-cdap access --format parquet`: the access review of a whole inventory; one of many answers on Spark."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, astuple
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.inventory import read_entities
from ranger_cdap.cdap.profile import ACTIONS
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.policy_files import PolicyFiles, authorizer_by
from ranger_cdap.config import Location
from ranger_cdap.errors import InvalidInput, NotReady
from ranger_cdap.plugins.manager import condition_factories
from ranger_cdap.ranger.refresh.ended import without_ended
from ranger_cdap.store import require_packages
from spark_sync.review.answers import Basis
from spark_sync.review.people import named_users, people, read_users
from spark_sync.review.report import ReviewReport
from spark_sync.spark.on_demand import SparkOnDemand
from spark_sync.spark.sent_policies import SentPolicies
from spark_sync.spark.spark_errors import spark_errors
from spark_sync.spark.submission import require_urls
from spark_sync.tasks import here, on_spark

FEW_ANSWERS: Final = 4_000_000
"""Answers up to which a review needs no Spark, whose start takes as long."""


def write_access(
    invocation: Invocation, files: PolicyFiles | None, inventory: Path, users: Path | None, out: Location
) -> None:
    """Write which users have which of READ, WRITE, ADMIN and EXECUTE on which entities, and show a summary.

    Raises:
        InvalidInput: a file is unusable, there are no users, or `out` exists.
        ConfigError: `out` would be lost with the driver.
        NotReady: there are no policies.
        SyncMissing, SparkMissing: a package is missing.
        SyncError: Spark failed, or `out` cannot be written.
    """
    require_packages()
    require_urls({"`--out`": out})
    from spark_sync.review.review import review

    now = time.time_ns() // 1_000_000
    wanted = read_entities(inventory, instance=invocation.settings.cdap.instance, now=now)
    passed = read_users(users) if users is not None else {}
    with authorizer_by(invocation, files) as authorizer:
        decides = _basis(invocation, authorizer, passed, now)
        version = authorizer.snapshot.versions.policies
    what = f"asking about {len(wanted):,} entities for {len(decides.people):,} users"
    with (
        invocation.messages.status(what) as shown,
        spark_errors(),
        SparkOnDemand(invocation.settings.sync) as spark,
    ):
        report = review(
            here if len(wanted) * len(decides.people) * len(ACTIONS) <= FEW_ANSWERS else on_spark(spark),
            decides,
            wanted,
            out,
            policy_version=version,
            progress=lambda done, parts: shown.update(f"{what}: {done} of {parts} parts"),
        )
    if invocation.as_json:
        invocation.print_json(to_json(report))
    else:
        print_review(invocation, report)


def _basis(invocation: Invocation, authorizer: Authorizer, passed: Mapping[str, frozenset[str]], now: int) -> Basis:
    snapshot, documents = authorizer.snapshot, authorizer.snapshot.documents
    if snapshot.engine is None or documents is None:
        raise NotReady(snapshot.reason)
    names = passed or named_users(documents)
    if not names:
        raise InvalidInput("policies name no users, so there is nothing to review; give `--users`")
    asked = people(names, passed, snapshot, authorizer.decider.group_hook)
    if doubtful := sum(not person.groups_known for person in asked):
        invocation.messages.print(f"warning: a plugin could not look up the groups of {doubtful} users")
    if problems := len(snapshot.engine.problems):
        invocation.messages.print(
            f"warning: problems with policies: {problems}; `ranger-cdap policies lint` shows them"
        )
    sent = SentPolicies.of(
        snapshot.engine.service_name,
        without_ended(documents, now),
        frozenset(condition_factories(invocation.plugins)),
    )
    return Basis(authorizer.decider.config.instance, sent, asked, now)


def print_review(invocation: Invocation, report: ReviewReport) -> None:
    """Print a review: a line per namespace, and the location of the answers."""
    rows = [
        ["(outside of namespaces)" if namespace is None else namespace, *(f"{number:,}" for number in numbers)]
        for namespace, *numbers in map(astuple, report.namespaces)
    ]
    invocation.print_table(["namespace", "entities", "users", "answers", "allowed", *ACTIONS, "conditional"], rows)
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
