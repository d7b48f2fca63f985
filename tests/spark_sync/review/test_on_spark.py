"""The access review on Spark: what is written, what is refused, and the command on a small cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ranger_cdap.config import PluginSettings, RangerSettings, Secret, Settings
from ranger_cdap.errors import InvalidInput, SyncError
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from spark_sync.review.people import ReviewedUser
from tests.spark_sync.conftest import PASSWORD, Ranger
from tests.spark_sync.installed_conditions import INSTALLED
from tests.spark_sync.review.test_review import ENTITIES, HEADER, asked, documents, line, triples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOSTILE = ("../../etc", "=cmd|' /C calc'!A0", "a,b\nc", "{USER}", "<script>", "nul\x00", "😀", "\u202eecila", "x" * 500)
PEOPLE = tuple(ReviewedUser(name, frozenset(), True) for name in ("alice", "bob", "carol", *HOSTILE))
MASTER = "local-cluster[2,1,1024]"


@pytest.mark.spark
def test_what_is_written_is_what_the_engine_says(spark: SparkSession, tmp_path: Path) -> None:
    from spark_sync.review.review import review

    decides = asked(documents(), PEOPLE)
    expected = triples(decides)
    report = review(spark, decides, ENTITIES, str(tmp_path / "out"), policy_version=9)

    written = spark.read.parquet(report.answers_path)
    assert written.columns == [
        *("instance", "namespace", "entity", "type", "parts"),
        *("user", "action", "allowed", "policy_id", "conditional", "depends"),
    ]
    rows = written.collect()
    assert Counter((row.type, tuple(row.parts), row.user, row.action) for row in rows) == Counter(
        (entity.type, entity.parts, user, action) for entity, user, action in expected
    )
    for row in rows:
        (entity,) = (one for one in ENTITIES if (one.type, one.parts) == (row.type, tuple(row.parts)))
        assert (row.allowed, row.policy_id, row.conditional, row.depends) == expected[entity, row.user, row.action]
        assert (row.instance, row.namespace, row.entity) == ("cdap", entity.namespace, str(entity))
    assert {path.name for path in tmp_path.rglob("*") if path.is_dir()} == {"out", "answers", "summary"}

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
    assert spark.read.parquet(report.summary_path).count() == len(report.namespaces)


@pytest.mark.spark
@pytest.mark.parametrize("name", ["out*", "o[ut]", "{out}"])
def test_a_pattern_is_no_directory(name: str, spark: SparkSession, tmp_path: Path) -> None:
    from spark_sync.review.review import review

    with pytest.raises(InvalidInput, match="pattern"):
        review(spark, asked(documents(), PEOPLE), ENTITIES, str(tmp_path / name), policy_version=9)
    assert not list(tmp_path.iterdir())


@pytest.mark.spark
def test_nothing_is_overwritten(spark: SparkSession, tmp_path: Path) -> None:
    from spark_sync.review.review import review

    (tmp_path / "mine").write_text("precious", encoding="utf-8")
    with pytest.raises(InvalidInput, match="already exists"):
        review(spark, asked(documents(), PEOPLE), ENTITIES, str(tmp_path), policy_version=9)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.spark
def test_executors_without_the_plugins_of_the_driver_leave_no_answers(spark: SparkSession, tmp_path: Path) -> None:
    from spark_sync.review.review import review

    decides = asked(documents(), PEOPLE)
    sent = replace(decides.policies, conditions=INSTALLED | {"org.example.Moon"})
    with pytest.raises(SyncError, match=r"differ in their plugins: conditions `org\.example\.Moon`"):
        review(spark, replace(decides, policies=sent), ENTITIES, str(tmp_path / "out"), policy_version=9)
    assert not list(tmp_path.rglob("*.parquet"))
    assert not list(tmp_path.rglob("_SUCCESS"))


@pytest.fixture
def plugin_settings(ranger: Ranger, tmp_path: Path) -> Settings:
    """Of a plugin whose account may download everything, in a service in which alice reads the dataset."""
    service = ranger.admin.get_service(ranger.service)
    assert service is not None
    rights = {f"{kind}.download.auth.users": "sync" for kind in ("policy", "tag", "userstore")}
    ranger.admin.update_service(service["id"], {**service, "configs": {**service["configs"], **rights}})
    resources = {"instance": "cdap", "namespace": "ns1", "dataset": "a.b"}
    ranger.admin.create_policy(
        Policy(
            service=ranger.service,
            name="alice reads",
            resources={level: PolicyResource(values=[value]) for level, value in resources.items()},
            policy_items=[PolicyItem(users=["alice"], accesses=[PolicyItemAccess(type="read")])],
        )
    )
    return Settings(
        ranger=RangerSettings(url=ranger.url, service=ranger.service, attempts=1),
        plugin=PluginSettings(username="sync", password=Secret(PASSWORD), cache_dir=tmp_path / "cache"),
    )


@pytest.mark.spark
def test_the_command_on_a_small_cluster(plugin_settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "e.jsonl").write_text(HEADER + "".join(map(line, ENTITIES)), encoding="utf-8")
    config = tmp_path / "c.toml"
    ranger, plugin = plugin_settings.ranger, plugin_settings.plugin
    config.write_text(
        f'[ranger]\nurl = "{ranger.url}"\nservice = "{ranger.service}"\n'
        f'[plugin]\nusername = "sync"\npassword = "env:PLUGIN_PASSWORD"\ncache_dir = "{plugin.cache_dir}"\n',
        encoding="utf-8",
    )
    command = [sys.executable, "-m", "ranger_cdap", "--config", str(config), "--json", "access"]
    options = ["--format", "parquet", "--inventory", "e.jsonl", "--out", "out"]
    done = subprocess.run(
        [*command, *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=os.environ | {"PLUGIN_PASSWORD": PASSWORD},
    )
    assert done.returncode == 0, done.stderr
    assert PASSWORD not in done.stderr + done.stdout
    report = json.loads(done.stdout)
    assert report["entities"] == len(ENTITIES)
    assert report["users"] >= 1  # alice at least
    assert report["answers"] == report["entities"] * report["users"] * 4
    (ns1,) = (one for one in report["namespaces"] if one["namespace"] == "ns1")
    assert (ns1["read"], ns1["users"]) == (1, 1)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["answers", "summary"]
