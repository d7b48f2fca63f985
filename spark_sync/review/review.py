"""The review on Spark: the engine of each executor evaluates a share of the entities, and writes Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.profile import ACTIONS
from ranger_cdap.errors import InvalidInput
from spark_sync.review.answers import Basis, answer, units
from spark_sync.review.report import NamespaceSummary, ReviewReport
from spark_sync.spark.spark_errors import spark_errors

ENTITY_COLUMNS = ("instance", "namespace", "entity", "type", "parts")
ANSWER = ("user", "action", "allowed", "policy_id", "conditional", "depends")
_ROWS = (
    "instance string, namespace string, entity string, type string, parts array<string>,"
    " user array<string>, action array<string>, allowed array<boolean>, policy_id array<bigint>,"
    " conditional array<boolean>, depends array<string>"
)
_ROWS_A_FILE = 1_000_000
_TASKS_A_CORE = 2
_PATTERN_CHARACTERS = frozenset("*?[]{}\\")


def review(
    spark: SparkSession,
    basis: Basis,
    entities: Sequence[EntityId],
    out: str,
    *,
    policy_version: int,
) -> ReviewReport:
    """Evaluate every entity, user and action; `out` gets `answers` and, once those are complete, `summary`.

    Raises:
        InvalidInput: `out` already exists, or Spark would read it as a pattern.
        SyncError: Spark failed; `out` has no `summary` then.
    """
    place = out.rstrip("/")
    answers_path, summary_path = f"{place}/answers", f"{place}/summary"
    with spark_errors():
        _refuse_all_but_new(spark, out)
        evaluate(spark, basis, entities).write.mode("error").parquet(answers_path)
        summary = _summary(spark.read.parquet(answers_path))
        summary.coalesce(1).write.mode("error").parquet(summary_path)
        rows = spark.read.parquet(summary_path).orderBy(F.col("namespace").asc_nulls_first()).collect()
    names = [field.name for field in fields(NamespaceSummary)]
    namespaces = tuple(NamespaceSummary(**{name: row[name] for name in names}) for row in rows)
    return ReviewReport(
        instance=basis.instance,
        policy_version=policy_version,
        now=basis.now,
        entities=len(entities),
        users=len(basis.people),
        answers=sum(one.answers for one in namespaces),
        allowed=sum(one.allowed for one in namespaces),
        namespaces=namespaces,
        answers_path=answers_path,
        summary_path=summary_path,
    )


def evaluate(spark: SparkSession, basis: Basis, entities: Sequence[EntityId]) -> DataFrame:
    """Return the answers, a row each: the entity's columns, then `ANSWER`; evaluated when they are read."""
    context = spark.sparkContext
    work = units(entities, len(basis.people))
    expected = len(entities) * len(basis.people) * len(ACTIONS)
    tasks = max(context.defaultParallelism * _TASKS_A_CORE, expected // _ROWS_A_FILE)
    sent = context.broadcast(basis)
    rows = context.parallelize(work, max(1, min(tasks, len(work)))).mapPartitions(lambda part: answer(sent.value, part))
    # A row is an entity with arrays of equal length: transferring one row per answer would cost more than the engine.
    found = spark.createDataFrame(rows, _ROWS, verifySchema=False)
    return found.select(*ENTITY_COLUMNS, F.inline(F.arrays_zip(*ANSWER)))


def _summary(answers: DataFrame) -> DataFrame:
    allowed = F.col("allowed")
    entities = answers.select("namespace", "entity").distinct().groupBy("namespace").agg(F.count("*").alias("entities"))
    counts = answers.groupBy("namespace").agg(
        F.count_distinct(F.when(allowed, F.col("user"))).alias("users"),
        F.count("*").alias("answers"),
        F.count_if(allowed).alias("allowed"),
        *(F.count_if(allowed & (F.col("action") == action)).alias(action.lower()) for action in ACTIONS),
        F.count_if("conditional").alias("conditional"),
    )
    joined = counts.join(entities.withColumnRenamed("namespace", "of"), F.col("namespace").eqNullSafe(F.col("of")))
    return joined.select(*(field.name for field in fields(NamespaceSummary)))


def _refuse_all_but_new(spark: SparkSession, out: str) -> None:
    if not out or _PATTERN_CHARACTERS & frozenset(out):
        raise InvalidInput(f"`{out}` cannot be the output directory: Spark would read it as a pattern")
    jvm = spark.sparkContext._jvm
    assert jvm is not None  # there is a session
    path = jvm.org.apache.hadoop.fs.Path(out)
    if path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).exists(path):
        raise InvalidInput(f"`{out}` already exists; a review writes into a new directory")
