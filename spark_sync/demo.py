"""The main job, end to end, as a short story: what `ranger-cdap demo` tells and one of the tests checks.

Everything is in one directory and one embedded Ranger Admin, and is removed when the demo ends.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.entity import EntityId, entity_id
from ranger_cdap.config import (
    AuditSettings,
    CdapSettings,
    PluginSettings,
    RangerSettings,
    Secret,
    Settings,
    SourceSettings,
    SyncSettings,
)
from ranger_cdap.disk import replace_file
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin
from spark_sync.reconcile.baseline import take_baseline
from spark_sync.report import RunReport
from spark_sync.spark.on_demand import FEW, Few

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STORY: Final = Path(__file__).parent / "story"
"""What CDAP reports in each part, recorded from a real one; the names are made up."""

SERVICE = "cdapdev"
INSTANCE = "cdap"
CREATOR, COLLEAGUE = "alice", "bob"
DATASET = entity_id("dataset", ["sales", "purchases"])
PLUGIN_ACCOUNT, SYNC_ACCOUNT = "cdapplugin", "cdapsync"


@dataclass(frozen=True, slots=True)
class DemoEnvironment:
    """Environment of the demo: an administrator's client of Ranger Admin, and the settings of plugin and job."""

    admin: RangerAdmin
    settings: Settings
    inbox: Path

    def deliver(self, part: str) -> None:
        """Copy one part of the story into the directory of the job's source."""
        shutil.copy(STORY / part, self.inbox)

    def run_sync(self, spark: Callable[[], SparkSession], few: Few = FEW) -> RunReport:
        """Run the job once; its few events need no Spark, unless `few` says so."""
        from spark_sync.job import run_once

        return run_once(self.settings, spark, now=time.time_ns() // 1_000_000, few=few)

    def may_read(self, user: str, entity: EntityId = DATASET) -> Answer:
        """Check whether the user may read the dataset by Ranger's current policies."""
        with Authorizer.open(self.settings, refresh_in_background=False) as authorizer:
            return authorizer.check(user, (), "dataset.get", entity)


@contextmanager
def open_demo(directory: Path) -> Iterator[DemoEnvironment]:
    """Start an embedded Ranger Admin with the service, its accounts, and first policies for two developers."""
    (inbox := directory / "events").mkdir()
    password = Secret(f"Demo-{secrets.token_urlsafe(18)}-1")
    with (
        EmbeddedAdmin(admin_password=password.reveal()) as ranger,
        RangerAdmin(AdminConnection(ranger.url, username="admin", password=password)) as admin,
    ):
        for name in (PLUGIN_ACCOUNT, SYNC_ACCOUNT, CREATOR, COLLEAGUE):
            admin.create_user(name, password)
        wanted = DesiredState(SERVICE, INSTANCE, plugin_account=PLUGIN_ACCOUNT, sync_account=SYNC_ACCOUNT)
        service_setup.set_up(admin, wanted)
        admin.create_policy(_developers())
        settings = Settings(
            ranger=RangerSettings(url=ranger.url, service=SERVICE),
            cdap=CdapSettings(instance=INSTANCE),
            plugin=PluginSettings(username=PLUGIN_ACCOUNT, password=password, cache_dir=directory / "cache"),
            audit=AuditSettings(file=directory / "audit" / "records.jsonl", spool_dir=directory / "audit"),
            sync=SyncSettings(
                username=SYNC_ACCOUNT,
                password=password,
                state_dir=directory / "ledger",
                sources=(SourceSettings(name="cdap", kind="data-plane", path=inbox, callers=("cdap-master",)),),
            ),
        )
        yield DemoEnvironment(admin, settings, inbox)


def run_demo(
    environment: DemoEnvironment, spark: Callable[[], SparkSession], print_line: Callable[[str], None], few: Few = FEW
) -> list[str]:
    """Tell the story and return the expectations that failed, none if all is well."""
    wrong: list[str] = []

    def expect(outcome: bool, sentence: str) -> None:
        print_line(f"  {'ok ' if outcome else 'NO '} {sentence}")
        if not outcome:
            wrong.append(sentence)

    def may_read(user: str, wanted: bool) -> None:
        answer = environment.may_read(user)
        by = ", ".join(f"{number}" for number in answer.policy_ids)
        how = f"may read {DATASET}, by policy {by}" if answer.allowed else f"may not read {DATASET}"
        expect(answer.allowed == wanted, f"{user} {how}")

    print_line(f"Ranger has one policy of `{SERVICE}`: {CREATOR} and {COLLEAGUE} read and write namespaces.")
    print_line(f"\nIn CDAP, {CREATOR} creates a namespace, and in it a dataset and an application.")
    take_baseline(environment.settings, STORY / "baseline.jsonl", now=time.time_ns() // 1_000_000)
    environment.deliver("1-created.jsonl")
    may_read(CREATOR, False)
    print_line("\nThe sync job reads CDAP's events, and gives the creator what CDAP gives creators.")
    report = environment.run_sync(spark, few)
    for life in report.granted:
        print_line(f"  granted  {life.holder}  {', '.join(life.applied)}  {life.entity}")
    expect(len(report.granted) == 3 and not report.trouble, f"{len(report.granted)} policies were written")
    may_read(CREATOR, True)
    may_read(COLLEAGUE, False)
    policies = environment.admin.list_policies(SERVICE)
    expect(
        environment.run_sync(spark, few).wrote_nothing and environment.admin.list_policies(SERVICE) == policies,
        "a second run writes nothing",
    )
    print_line(f"\nIn CDAP, {CREATOR} deletes the dataset. The sync job takes the grant back.")
    environment.deliver("2-deleted.jsonl")
    report = environment.run_sync(spark, few)
    for life in report.revoked:
        print_line(f"  revoked  {life.holder}  {life.entity}")
    expect([life.entity for life in report.revoked] == [DATASET], "the other grants stay")
    may_read(CREATOR, False)
    return wrong


def write_settings(environment: DemoEnvironment) -> Path:
    """Write the settings of the demo, for other commands, and return their file. The password is beside it."""
    settings, file = environment.settings, environment.inbox.with_name("ranger-cdap.toml")
    replace_file(file.with_name("password"), [settings.plugin.password.reveal().encode()])
    text = f"""[ranger]
url = "{settings.ranger.url}"
service = "{SERVICE}"

[cdap]
instance = "{INSTANCE}"

[plugin]
username = "{PLUGIN_ACCOUNT}"
password = "file:{file.with_name("password")}"
cache_dir = "{settings.plugin.cache_dir}"

[sync]
username = "{SYNC_ACCOUNT}"
password = "file:{file.with_name("password")}"
state_dir = "{settings.sync.state_dir}"

[[sync.sources]]
name = "cdap"
kind = "data-plane"
path = "{environment.inbox}"
callers = ["cdap-master"]
"""
    replace_file(file, [text.encode()])
    return file


def _developers() -> Policy:
    return Policy(
        service=SERVICE,
        name="developers",
        resources={"instance": PolicyResource(values=[INSTANCE]), "namespace": PolicyResource(values=["*"])},
        policy_items=[
            PolicyItem(
                users=[CREATOR, COLLEAGUE], accesses=[PolicyItemAccess(type="read"), PolicyItemAccess(type="write")]
            )
        ],
    )
