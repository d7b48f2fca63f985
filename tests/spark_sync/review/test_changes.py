"""A review beside a former one, on Spark: the changes are those of a plain comparison; what is no review is told."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.errors import InvalidInput
from spark_sync.review.people import ReviewedUser
from spark_sync.review.report import ReviewReport
from tests.authz.fixtures import policy
from tests.spark_sync.review.test_review import (
    DATASET,
    ENTITIES,
    POLICIES,
    STREAM,
    VALID_LATER,
    asked,
    documents,
    item,
    triples,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GONE, NEW = entity_id("dataset", ["old", "kv"]), entity_id("dataset", ["ns2", "kv"])
FORMER_POLICIES = (
    *POLICIES,
    policy(20, {"namespace": "old", "dataset": "*"}, ["alice"], ["read"]),
    policy(21, {"namespace": "ns1", "dataset": "a.b"}, ["eve"], ["execute"]),
)
NOW_POLICIES = (
    *(one for one in POLICIES if one["id"] not in (1, 4)),
    policy(22, {"namespace": "ns1", "stream": "*"}, ["carol"], ["write", "read"]),
    policy(23, {"namespace": "ns1", "artifact": "core"}, ["bob"], [], denyPolicyItems=[item(["read"], users=["bob"])]),
    policy(24, {"namespace": "ns2", "dataset": "kv"}, ["bob"], ["read"], validitySchedules=VALID_LATER),
    policy(27, {}, ["carol"], ["admin"]),
    policy(25, {"namespace": "ns1", "dataset": "a.b"}, [], [], policyItems=[item(["read"], groups=["public"])]),
    policy(
        26,
        {"namespace": "ns1", "dataset": "a.b"},
        [],
        [],
        denyPolicyItems=[item(["read"], users=["alice"])],
        validitySchedules=VALID_LATER,
    ),
)
FORMER = (
    asked(documents(FORMER_POLICIES), tuple(map(ReviewedUser, ("alice", "bob", "carol", "eve\n")))),
    (*ENTITIES, GONE),
)
PRESENT = (
    asked(documents(NOW_POLICIES), tuple(map(ReviewedUser, ("alice", "bob", "carol", "<new>")))),
    (*ENTITIES, NEW),
)
Key = tuple[EntityId, str, str]
NOT_ASKED = (False, None, False, "")


def expected(*, conditions: bool) -> dict[Key, tuple[Any, ...]]:
    """By the answers themselves: change, policies and conditions before and now."""
    before, now = (triples(*one) for one in (FORMER, PRESENT))
    found: dict[Key, tuple[Any, ...]] = {}
    for key in before.keys() | now.keys():
        was, is_ = before.get(key, NOT_ASKED), now.get(key, NOT_ASKED)
        change = "gained" if is_[0] and not was[0] else "lost" if was[0] and not is_[0] else ""
        if not change and conditions and was[3] != is_[3]:
            change = "changed"
        if change:
            texts = (was[3] if key in before and conditions else None, is_[3] if key in now else None)
            found[key] = (change, was[1], is_[1], *texts)
    return found


def written(changes: DataFrame) -> dict[Key, tuple[Any, ...]]:
    rows = changes.collect()
    found = {
        (EntityId(row.type, tuple(row.parts)), row.user, row.action): (
            row.change,
            row.policy_before,
            row.policy_now,
            row.depends_before,
            row.depends_now,
        )
        for row in rows
    }
    assert len(found) == len(rows)
    for row in rows:
        entity = EntityId(row.type, tuple(row.parts))
        assert (row.instance, row.namespace, row.entity) == ("cdap", entity.namespace, str(entity))
    return found


@pytest.fixture(scope="module")
def former(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from spark_sync.review.review import review

    place = tmp_path_factory.mktemp("reviews") / "former"
    review(spark, *FORMER, str(place), policy_version=1)
    return place


def reviewed(spark: SparkSession, out: Path, former: Path) -> ReviewReport:
    from spark_sync.review.review import review

    return review(spark, *PRESENT, str(out), policy_version=2, compare=str(former))


@pytest.mark.spark
def test_the_changes_are_those_of_a_plain_comparison(
    spark: SparkSession, former: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from spark_sync.cli.review import print_review, to_json

    report = reviewed(spark, tmp_path / "now", former)
    truth = expected(conditions=True)
    assert {one[0] for one in truth.values()} == {"gained", "lost", "changed"}
    assert written(spark.read.parquet(str(tmp_path / "now" / "changes"))) == truth

    assert "old" in {one.namespace for one in report.namespaces}, "a namespace that is gone"
    for one in report.namespaces:
        here = [change[0] for (entity, _, _), change in truth.items() if entity.namespace == one.namespace]
        counts = tuple(map(here.count, ("gained", "lost", "changed")))
        assert (one.gained, one.lost, one.changed) == counts
    compared = report.compared
    assert compared is not None
    assert (compared.new_entities, compared.new_entity_names) == (1, (str(NEW),))
    assert (compared.gone_entities, compared.gone_entity_names) == (1, (str(GONE),))
    assert (compared.new_users, compared.new_user_names) == (1, ("<new>",))
    assert (compared.gone_users, compared.gone_user_names) == (1, ("eve\n",))

    invocation = Invocation()
    print_review(invocation, report)
    told = " ".join(capsys.readouterr().out.split())
    assert "users gone: eve\\n" in told
    assert f"since `{former}`: " in told
    assert to_json(report)["compared"] == {
        "former": str(former),
        "changes_path": compared.changes_path,
        "with_conditions": True,
        "new_entities": 1,
        "new_entity_names": (str(NEW),),
        "gone_entities": 1,
        "gone_entity_names": (str(GONE),),
        "new_users": 1,
        "new_user_names": ("<new>",),
        "gone_users": 1,
        "gone_user_names": ("eve\n",),
    }


@pytest.mark.spark
def test_a_review_of_before_conditions_were_written_is_compared_without_them(
    spark: SparkSession, former: Path, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    spark.read.parquet(str(former / "answers")).drop("depends").write.parquet(str(old / "answers"))
    shutil.copytree(former / "summary", old / "summary")
    report = reviewed(spark, tmp_path / "now", old)
    assert written(spark.read.parquet(str(tmp_path / "now" / "changes"))) == expected(conditions=False)
    assert report.compared is not None
    assert not report.compared.with_conditions
    assert {one.changed for one in report.namespaces} == {None}


@pytest.mark.spark
@pytest.mark.parametrize(
    ("case", "said"),
    [
        ("nowhere", "does not exist"),
        ("empty", "it has no `answers`"),
        ("interrupted", "that review was interrupted"),
        ("other columns", "the column `instance` is missing, not string"),
        ("another type", "the column `policy_id` is string, not bigint"),
        ("no parquet", "cannot be read as Parquet"),
        ("another instance", "is a review of the instance `other`, not of `cdap`"),
        ("form*", "Spark would read it as a pattern"),
    ],
)
def test_what_is_no_former_review_is_told_before_anything_is_written(
    case: str, said: str, spark: SparkSession, former: Path, tmp_path: Path
) -> None:
    from pyspark.sql import functions as F  # noqa: N812

    place = tmp_path / case
    if case not in ("nowhere", "form*"):
        place.mkdir()
    answers = spark.read.parquet(str(former / "answers"))
    match case:
        case "interrupted":
            shutil.copytree(former / "answers", place / "answers")
        case "no parquet":
            (place / "answers").mkdir()
            (place / "answers" / "part.parquet").write_text("entity,user\n")
        case "other columns":
            answers.select("user").write.parquet(str(place / "answers"))
        case "another type":
            answers.withColumn("policy_id", F.col("policy_id").cast("string")).write.parquet(str(place / "answers"))
        case "another instance":
            answers.withColumn("instance", F.lit("other")).write.parquet(str(place / "answers"))
    if case not in ("nowhere", "form*", "empty", "interrupted"):
        shutil.copytree(former / "summary", place / "summary")
    with pytest.raises(InvalidInput) as told:
        reviewed(spark, tmp_path / "now", place)
    assert said in str(told.value)
    assert "\n" not in str(told.value)
    assert not (tmp_path / "now").exists()


def test_a_stream_and_a_dataset_change() -> None:
    """The case is not so small that it shows nothing."""
    changed = {entity for entity, _, _ in expected(conditions=True)}
    assert {entity_id("instance", []), DATASET, STREAM, GONE} <= changed
