"""What a review writes: each answer of the engine once, counts that agree with them, and nothing over what is there."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ranger_cdap.errors import InvalidInput, SyncError
from spark_sync.review import review as review_module
from spark_sync.review.people import ReviewedUser
from spark_sync.review.report import ReviewReport
from spark_sync.review.review import review
from spark_sync.tasks import here
from tests.spark_sync.review.test_review import ENTITIES, asked, documents, triples

HOSTILE = ("../../etc", "=cmd|' /C calc'!A0", "a,b\nc", "{USER}", "<script>", "nul\x00", "😀", "\u202eecila", "x" * 500)
PEOPLE = tuple(ReviewedUser(name, frozenset(), True) for name in ("alice", "bob", "carol", *HOSTILE))
DECIDES = asked(documents(), PEOPLE)


@pytest.mark.parametrize("per_part", [1, 4 * len(PEOPLE) * 3, 10**6])
@pytest.mark.parametrize("at_once", [2, 1000])
def test_what_is_written_is_what_the_engine_says(
    per_part: int, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = triples(DECIDES)
    monkeypatch.setattr(review_module, "ANSWERS_OF_A_PART", per_part)
    monkeypatch.setattr(review_module, "PEOPLE_AT_ONCE", at_once)
    monkeypatch.setattr("spark_sync.review.answers.PEOPLE_AT_ONCE", at_once)
    told: list[tuple[int, int]] = []
    report = review(
        here, DECIDES, ENTITIES, tmp_path / "out", policy_version=9, progress=lambda *done: told.append(done)
    )

    written = pq.read_table(report.answers_path)
    assert written.column_names == [
        *("instance", "namespace", "entity", "type", "parts"),
        *("user", "action", "allowed", "policy_id", "conditional", "depends"),
    ]
    rows = written.to_pylist()
    assert Counter((row["type"], tuple(row["parts"]), row["user"], row["action"]) for row in rows) == Counter(
        (entity.type, entity.parts, user, action) for entity, user, action in expected
    )
    for row in rows:
        (entity,) = (one for one in ENTITIES if (one.type, one.parts) == (row["type"], tuple(row["parts"])))
        decided = (row["allowed"], row["policy_id"], row["conditional"], row["depends"])
        assert decided == expected[entity, row["user"], row["action"]]
        assert (row["instance"], row["namespace"], row["entity"]) == ("cdap", entity.namespace, str(entity))
    files = list((tmp_path / "out" / "answers").iterdir())
    assert told == [(done, len(files)) for done in range(1, len(files) + 1)]
    assert_counts(report, expected)
    summary = pq.read_table(report.summary_path).to_pylist()
    assert [row["namespace"] for row in summary] == [one.namespace for one in report.namespaces]


def assert_counts(report: ReviewReport, expected: dict[Any, tuple[Any, ...]]) -> None:
    def count(namespace: str | None, index: int = 0, action: str | None = None) -> int:
        return sum(
            decided[index]
            for (entity, _, asked_action), decided in expected.items()
            if entity.namespace == namespace and asked_action == (action or asked_action)
        )

    assert [one.namespace for one in report.namespaces] == [None, "ns1", "ns2"]
    for one in report.namespaces:
        inside = [entity for entity in ENTITIES if entity.namespace == one.namespace]
        assert one.entities == len(inside)
        assert one.answers == len(inside) * len(PEOPLE) * 4
        assert one.users == len(
            {user for (entity, user, _), decided in expected.items() if entity in inside and decided[0]}
        )
        assert one.allowed == count(one.namespace)
        assert one.conditional == count(one.namespace, 2)
        by_action = [count(one.namespace, action=action) for action in ("READ", "WRITE", "ADMIN", "EXECUTE")]
        assert [one.read, one.write, one.admin, one.execute] == by_action
    assert report.allowed == sum(decided[0] for decided in expected.values()) > 0
    assert report.answers == len(expected)


@pytest.mark.parametrize("name", ["out*", "o[ut]", "{out}", "Grüße 1"])
def test_any_name_is_a_directory(name: str, tmp_path: Path) -> None:
    report = review(here, DECIDES, ENTITIES, tmp_path / name, policy_version=9)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert pq.read_table(report.answers_path).num_rows == report.answers


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious", encoding="utf-8")
    with pytest.raises(InvalidInput, match="already exists"):
        review(here, DECIDES, ENTITIES, tmp_path, policy_version=9)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_what_is_written_is_private(tmp_path: Path) -> None:
    review(here, DECIDES, ENTITIES, tmp_path / "out", policy_version=9)
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*.parquet")} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "out").iterdir()} == {0o700}


def test_a_task_that_was_lost_is_written_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark runs the task of a lost executor again, whatever it had written."""
    monkeypatch.setattr(review_module, "ANSWERS_OF_A_PART", 1)

    def twice(function: Callable[[Any], Any], parts: Iterable[Any]) -> Iterator[Any]:
        for part in parts:
            function(part)
            part.file.write_bytes(part.file.read_bytes()[:100])
            yield function(part)

    report = review(twice, DECIDES, ENTITIES, tmp_path / "out", policy_version=9)
    assert pq.read_table(report.answers_path).num_rows == report.answers


def test_parts_on_other_machines_are_noticed(tmp_path: Path) -> None:
    def elsewhere(function: Callable[[Any], Any], parts: Iterable[Any]) -> Iterator[Any]:
        for part in parts:
            yield function(replace(part, file=tmp_path / "theirs" / part.file.name))

    with pytest.raises(SyncError, match="is not there"):
        review(elsewhere, DECIDES, ENTITIES, tmp_path / "out", policy_version=9)
    assert not (tmp_path / "out" / "summary").exists()


def test_a_disk_that_fails_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SyncError, match="cannot be written"):
        review(here, DECIDES, ENTITIES, tmp_path / "file" / "out", policy_version=9)
