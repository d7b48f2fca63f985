"""Changes since a former review, on Spark: answers gained and lost, and entities and users that are new or gone.

Law: an answer is gained if it allows and did not before, lost if it is the other way round, and changed if it is the
same and depends on something else; what a review was not asked about, it did not allow. The cost is that of a join.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.errors import InvalidInput, SyncError
from spark_sync.review.report import ReviewComparison
from spark_sync.spark.spark_errors import spark_errors

KEY = ("type", "parts", "user", "action")
CHANGES = ("instance", "namespace", "entity", *KEY, "change")
_DEPENDS = "depends"
_TYPES = {
    "instance": "string",
    "namespace": "string",
    "entity": "string",
    "type": "string",
    "parts": "array<string>",
    "user": "string",
    "action": "string",
    "allowed": "boolean",
    "policy_id": "bigint",
    "conditional": "boolean",
}
_MOST_NAMES = 20


@dataclass(frozen=True, slots=True)
class FormerReview:
    """Answers of a review that ended; `has_conditions` is false if it was written without what they depend on."""

    directory: str
    answers: DataFrame
    has_conditions: bool


def former_review(spark: SparkSession, directory: str, instance: str) -> FormerReview:
    """Return the review in a directory.

    Raises:
        InvalidInput: there is none, it did not end, it is of another instance, or its files are others.
        SyncError: Spark failed.
    """
    place = directory.rstrip("/")
    with spark_errors():
        if not exists(spark, place):
            raise InvalidInput(f"the former review `{directory}` does not exist")
        if not exists(spark, f"{place}/answers"):
            raise InvalidInput(f"`{directory}` is no review: it has no `answers`")
        if not exists(spark, f"{place}/summary/_SUCCESS"):
            raise InvalidInput(f"`{directory}` has no summary: that review was interrupted, so it lacks answers")
    answers = _answers(spark, place)
    with spark_errors():
        others = answers.select("instance").distinct().limit(2).collect()
    for row in others:
        if row.instance != instance:
            raise InvalidInput(f"`{directory}` is a review of the instance `{row.instance}`, not of `{instance}`")
    return FormerReview(directory, answers, _DEPENDS in answers.columns)


def _answers(spark: SparkSession, place: str) -> DataFrame:
    try:
        with spark_errors():
            answers = spark.read.parquet(f"{place}/answers")
    except SyncError as e:
        raise InvalidInput(f"`{place}/answers` cannot be read as Parquet: {e}") from None
    found = {field.name: field.dataType.simpleString() for field in answers.schema.fields}
    expected = _TYPES if _DEPENDS not in found else {**_TYPES, _DEPENDS: "string"}
    for name, kind in expected.items():
        if found.get(name) != kind:
            raise InvalidInput(
                f"`{place}/answers` is not of a review: the column `{name}` is {found.get(name, 'missing')}, not {kind}"
            )
    return answers


def changes(now: DataFrame, former: FormerReview) -> DataFrame:
    """Return a row per answer that changed: its entity, user and action, the change, and both policies.

    Where a review was not asked, its policy is null; without conditions of the former one, no answer is changed.
    """
    before = former.answers if former.has_conditions else former.answers.withColumn(_DEPENDS, F.lit(""))
    joined = now.alias("n").join(before.alias("b"), list(KEY), "full_outer")
    allowed, was_allowed = (F.coalesce(f"{side}.allowed", F.lit(False)) for side in "nb")
    depends, depended = (F.coalesce(f"{side}.depends", F.lit("")) for side in "nb")
    change = (
        F.when(allowed & ~was_allowed, "gained")
        .when(~allowed & was_allowed, "lost")
        .when(F.lit(former.has_conditions) & (depends != depended), "changed")
    )
    both: list[Column] = [F.coalesce(f"n.{name}", f"b.{name}").alias(name) for name in CHANGES[:3]]
    return joined.select(
        *both,
        *KEY,
        change.alias("change"),
        F.col("b.policy_id").alias("policy_before"),
        F.col("n.policy_id").alias("policy_now"),
        (F.col("b.depends") if former.has_conditions else F.lit(None).cast("string")).alias("depends_before"),
        F.col("n.depends").alias("depends_now"),
    ).where(F.col("change").isNotNull())


def comparison(now: DataFrame, former: FormerReview, changes_path: str) -> ReviewComparison:
    """Return which entities and users are new or gone."""
    entities = _differing(now, former.answers, "type", "parts", "entity")
    users = _differing(now, former.answers, "user")
    return ReviewComparison(former.directory, changes_path, former.has_conditions, *entities, *users)


def _differing(now: DataFrame, before: DataFrame, *columns: str) -> tuple[int, tuple[str, ...], int, tuple[str, ...]]:
    """Return the number of new values and the first of them, and of those that are gone; the last column names one."""
    return *_only(now, before, columns), *_only(before, now, columns)


def _only(one: DataFrame, other: DataFrame, columns: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    found = one.select(*columns).distinct().join(other.select(*columns).distinct(), list(columns), "left_anti").cache()
    names = found.orderBy(columns[-1]).limit(_MOST_NAMES).collect()
    count = found.count()
    found.unpersist()
    return count, tuple(row[columns[-1]] for row in names)


def exists(spark: SparkSession, place: str) -> bool:
    """Return True if there is a file or directory of this name."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None  # there is a session
    path = jvm.org.apache.hadoop.fs.Path(place)
    return bool(path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).exists(path))
