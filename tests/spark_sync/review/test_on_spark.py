"""The access review on Spark: the same as without it, and the command on a small cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ranger_cdap.config import PluginSettings, RangerSettings, Secret, Settings
from ranger_cdap.errors import SyncError
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from spark_sync.review import review as review_module
from spark_sync.review.review import review
from spark_sync.spark.spark_errors import spark_errors
from spark_sync.tasks import here, on_spark
from tests.spark_sync.conftest import PASSWORD, Ranger
from tests.spark_sync.installed_conditions import INSTALLED
from tests.spark_sync.review.test_review import ENTITIES, HEADER, asked, documents, line
from tests.spark_sync.review.test_written_review import PEOPLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local-cluster[2,1,1024]"


@pytest.mark.spark
def test_spark_writes_what_this_process_writes(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review_module, "ANSWERS_OF_A_PART", 4 * len(PEOPLE))
    decides = asked(documents(), PEOPLE)
    reports, answers = [], []
    for name, tasks in (("here", here), ("spark", on_spark(lambda: spark))):
        reports.append(review(tasks, decides, ENTITIES, tmp_path / name, policy_version=9))
        answers.append(spark.read.parquet(reports[-1].answers_path))
    assert reports[0].namespaces == reports[1].namespaces
    assert answers[0].schema == answers[1].schema
    assert answers[0].exceptAll(answers[1]).union(answers[1].exceptAll(answers[0])).collect() == []
    assert answers[0].count() == reports[0].answers


@pytest.mark.spark
def test_executors_without_the_plugins_of_the_driver_leave_no_answers(spark: SparkSession, tmp_path: Path) -> None:
    decides = asked(documents(), PEOPLE)
    sent = replace(decides.policies, conditions=INSTALLED | {"org.example.Moon"})
    with (
        pytest.raises(SyncError, match=r"differ in their plugins: conditions `org\.example\.Moon`"),
        spark_errors(),
    ):
        review(on_spark(lambda: spark), replace(decides, policies=sent), ENTITIES, tmp_path / "out", policy_version=9)
    assert not list(tmp_path.rglob("*.parquet"))


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
