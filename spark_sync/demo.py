"""The main job, end to end, on recorded events: what `ranger-cdap demo` shows and one of the tests checks.

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
from ranger_cdap.errors import NotFound
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin
from spark_sync.reconcile.baseline import BaselineReport, take_baseline
from spark_sync.report import RunReport
from spark_sync.spark.on_demand import FEW, Few

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDING: Final = Path(__file__).parent / "recording"
"""Events of a real CDAP, and the entities that it had before."""

SERVICE = "cdapdev"
INSTANCE = "cdap"
CREATOR, COLLEAGUE = "alice", "bob"
DATASET = entity_id("dataset", ["ns1", "kv"])
OPERATION = "dataset.get"
SOURCES = {"audit": "audit", "data-plane": "data-plane"}
PLUGIN_ACCOUNT, SYNC_ACCOUNT = "cdapplugin", "cdapsync"


@dataclass(frozen=True, slots=True)
class DemoEnvironment:
    """Environment of the demo: an administrator's client of Ranger Admin, and the settings of plugin and job."""

    admin: RangerAdmin
    settings: Settings
    inbox: Path

    def deliver(self, part: str) -> None:
        """Copy one part of the recording (`1-until-the-deletions`) into the directories of the job's sources."""
        for source in SOURCES:
            shutil.copy(RECORDING / "events" / source / f"{part}.jsonl", self.inbox / source)

    def policy_version(self) -> int:
        """Return the version of the service's policies; every write raises it.

        Raises:
            NotFound: the service does not exist.
        """
        service = self.admin.get_service(SERVICE)
        if service is None:
            raise NotFound(f"service `{SERVICE}` is not in Ranger")
        return int(service["policyVersion"])

    def take_baseline(self) -> BaselineReport:
        """Enter the entities that existed before the recording."""
        now = time.time_ns() // 1_000_000
        return take_baseline(self.settings, RECORDING / "baseline.jsonl", now=now)

    def run_sync(
        self, spark: Callable[[], SparkSession], progress: Callable[[str], None] = lambda _: None, few: Few = FEW
    ) -> RunReport:
        """Run the job once; its few events need no Spark, unless `few` says so."""
        from spark_sync.job import run_once

        return run_once(self.settings, spark, now=time.time_ns() // 1_000_000, progress=progress, few=few)

    def may_read(self, user: str, entity: EntityId = DATASET) -> Answer:
        """Check whether the user may read the dataset by Ranger's current policies."""
        with Authorizer.open(self.settings, refresh_in_background=False) as authorizer:
            return authorizer.check(user, (), OPERATION, entity)


@contextmanager
def open_demo(directory: Path) -> Iterator[DemoEnvironment]:
    """Start an embedded Ranger Admin with the service, its accounts, and first policies for two developers."""
    inbox = directory / "events"
    for source in SOURCES:
        (inbox / source).mkdir(parents=True)
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
                sources=tuple(
                    SourceSettings(name=name, kind=kind, path=inbox / name, callers=("cdap-master",))
                    for name, kind in SOURCES.items()
                ),
            ),
        )
        yield DemoEnvironment(admin, settings, inbox)


def run_demo(
    environment: DemoEnvironment,
    spark: Callable[[], SparkSession],
    print_line: Callable[[str], None],
    print_report: Callable[[RunReport], None],
    few: Few = FEW,
) -> list[str]:
    """Run the demo and return the expectations that failed, none if all is well."""
    wrong: list[str] = []

    def expect(outcome: bool, sentence: str) -> None:
        print_line(f"  {'ok ' if outcome else 'NO '} {sentence}")
        if not outcome:
            wrong.append(sentence)

    print_line(f"Ranger has service `{SERVICE}`, and a policy by which alice and bob read and write every namespace.")
    baseline = environment.take_baseline()
    print_line(f"Baseline: {baseline.entities} entities existed before and grant nothing.")

    print_line(f"CDAP: {CREATOR} has just created {DATASET}, as the recorded events say.")
    environment.deliver("1-until-the-deletions")
    before = environment.may_read(CREATOR)
    expect(not before.allowed, f"{CREATOR} may not read it yet: {before.reason}")

    print_line("Sync: the job reads the events and writes the creators' grants into Ranger.")
    report = environment.run_sync(spark, lambda doing: print_line(f"  …  {doing}"), few)
    print_report(report)
    expect(bool(report.granted) and not report.trouble, f"{len(report.granted)} grants were written")

    print_line("The plugin downloads the policies again.")
    creator, colleague = environment.may_read(CREATOR), environment.may_read(COLLEAGUE)
    expect(creator.allowed, f"{CREATOR} may read {DATASET} now: {_because(creator)}")
    expect(not colleague.allowed, f"{COLLEAGUE} still may not: {colleague.reason}")

    print_line("Sync again, over the same events.")
    version = environment.policy_version()
    again = environment.run_sync(spark, few=few)
    print_report(again)
    expect(
        again.wrote_nothing and environment.policy_version() == version,
        f"nothing was written: Ranger's policy version is still {version}",
    )
    return wrong


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


def _because(answer: Answer) -> str:
    return "; ".join(
        f"{examined.action} on {examined.entity} by policy {examined.decision.policy_id}"
        f" (version {examined.decision.policy_version})"
        for examined in answer.decided_by
    )
