"""The audit on Spark: the same facts as without it, however Spark splits it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from ranger_cdap.errors import InvalidInput, SyncError
from ranger_cdap.policies.refresh.documents import Documents
from ranger_cdap.ranger_model.strict_json import LONGEST
from spark_sync.insights.audit_files import list_audit, listed_by_hadoop
from spark_sync.insights.differences import differences
from spark_sync.insights.facts import AuditFacts, gather
from spark_sync.insights.replay import ReplayBasis, replayer
from spark_sync.insights.tally import LineSource, tally
from spark_sync.spark.sent_policies import SentPolicies
from tests.authz.fixtures import document, policy
from tests.spark_sync.insights.audit_fixtures import ALWAYS, HDFS, NOON, line, record, written
from tests.spark_sync.installed_conditions import INSTALLED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

POLICIES = [policy(1, {"namespace": "ns1", "dataset": "*"}, ["alice", "user1", "user2"], ["read"])]


def basis() -> ReplayBasis:
    documents = Documents(msgspec.json.encode(document(POLICIES)), b"{}")
    return ReplayBasis(SentPolicies.of("cdapdev", documents, INSTALLED), {})


def read(spark: SparkSession, *paths: Path, by: ReplayBasis | None = None) -> AuditFacts:
    from spark_sync.insights.reading import read_audit

    return read_audit(spark, list_audit([str(path) for path in paths]), ALWAYS, by or basis())


def expected(*files: tuple[Path, list[bytes]]) -> AuditFacts:
    decide = replayer(basis()).decide
    facts = (
        fact
        for path, lines in files
        for fact in tally((LineSource(str(path), 0, one) for one in lines), ALWAYS, decide)
    )
    return gather(facts, {str(path): str(path) for path, _ in files})


def drawn_lines(count: int) -> list[bytes]:
    draw = random.Random(5)
    lines = []
    for n in range(count):
        user, dataset = f"user{draw.randrange(4)}", draw.choice(["a", "b", "ü"])
        one = line(reqUser=user, resource=f"cdap/ns1/{dataset}", evtTime=NOON + n * 1000, result=draw.randrange(2))
        lines.append(draw.choice([*[one] * 9, HDFS, HDFS, b"garbage \xff" + str(n).encode(), b"", one[:40]]))
    return lines


@pytest.fixture
def small_parts(spark: SparkSession) -> Any:
    for name in ("maxPartitionBytes", "openCostInBytes"):
        spark.conf.set(f"spark.sql.files.{name}", "3000")
    yield
    for name in ("maxPartitionBytes", "openCostInBytes"):
        spark.conf.unset(f"spark.sql.files.{name}")


def test_a_file_in_parts_makes_the_facts_of_the_whole(spark: SparkSession, small_parts: None, tmp_path: Path) -> None:
    lines = drawn_lines(250)
    path = tmp_path / "day=1" / "a b:c%20[x]*.log"
    path.parent.mkdir()
    path.write_bytes(b"\n".join(lines) + b"\n")
    (tmp_path / "empty.log").write_bytes(b"")
    assert len(path.read_bytes()) > 30_000
    found = read(spark, tmp_path)
    assert found == expected((path, lines), (tmp_path / "empty.log", []))
    assert 30 < found.lines.rejected < 100
    assert all(lines[one.line - 1].decode("utf-8", "replace")[:200] == one.text for one in found.rejected)
    assert {row[0] for row in differences(found, ()).rows} == {"lost", "gained"}


def test_files_of_several_writers_at_once(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "lines.json").write_bytes(written([record(), record(reqUser="bob")]))
    (tmp_path / "own.jsonl").write_bytes(b"\xef\xbb\xbf" + written([record()]) + HDFS + b"\r\nlast")
    found = read(spark, tmp_path)
    counts = {Path(name).name: (one.lines, one.accepted, one.rejected) for name, one in found.files}
    assert counts == {"lines.json": (2, 2, 0), "own.jsonl": (3, 2, 1)}
    assert [(Path(one.file).name, one.line, one.reason) for one in found.rejected] == [
        ("own.jsonl", 3, "not one JSON object"),
    ]


def test_a_line_that_is_too_long_is_rejected_alone(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(line() + b"\n" + line(reason="x" * (5 * LONGEST)) + b"\n" + line() + b"\n")
    found = read(spark, path)
    assert (found.lines.accepted, [(one.line, one.reason) for one in found.rejected]) == (
        2,
        [(2, f"longer than {LONGEST} bytes")],
    )


def test_ctrl_c_is_not_hidden_by_what_fails_after_it() -> None:
    from py4j.protocol import Py4JError

    from spark_sync.insights.reading import ctrl_c

    def clean_up() -> None:
        try:
            raise ConnectionError
        except ConnectionError:
            raise Py4JError("the answer is empty") from None

    def interrupted() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            clean_up()

    with pytest.raises(KeyboardInterrupt), ctrl_c():
        interrupted()
    with pytest.raises(Py4JError), ctrl_c():
        clean_up()


def test_executors_without_the_plugins_of_the_driver_fail(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(line())
    other = ReplayBasis(replace(basis().policies, conditions=INSTALLED | {"org.example.Moon"}), {})
    with pytest.raises(SyncError, match="differ in their plugins"):
        read(spark, tmp_path, by=other)


def test_a_url_is_listed_by_hadoop(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a b.log").write_bytes(line())
    (tmp_path / "sub" / "_SUCCESS").write_bytes(b"")
    (found,) = listed_by_hadoop(f"file://{tmp_path}", spark)
    assert Path(found.name).name == "a b.log"
    assert found.uri.endswith("/sub/a%20b.log"), "as Spark names it"
    with pytest.raises(InvalidInput, match="cannot be listed"):
        list(listed_by_hadoop(f"file://{tmp_path}/missing", spark))
    with pytest.raises(InvalidInput, match="`unheard-of://x/y`, of the audit, cannot be listed"):
        list_audit(["unheard-of://x/y"], spark)
