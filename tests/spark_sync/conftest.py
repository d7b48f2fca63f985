"""One embedded Ranger Admin for all tests of the sync job; each test has a service of its own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn
from uuid import uuid4

import pytest

import servicedef
from ranger_cdap.config import CdapSettings, RangerSettings, Secret, Settings, SourceSettings, SyncSettings
from ranger_cdap.ranger.client.connection import AdminConnection
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger_model.policy import Policy
from ranger_cdap.testing.admin import EmbeddedAdmin
from spark_sync.spark.on_demand import FEW, Few

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PASSWORD = "Sync-Test-Passw0rd"


def without_spark() -> NoReturn:
    """In place of a session, where none may be needed."""
    raise AssertionError("Spark was started")


@dataclass(frozen=True, slots=True)
class Way:
    """How a run reads and folds: in which session, and up to which amounts without it."""

    spark: Callable[[], SparkSession]
    few: Few = FEW


WITHOUT_SPARK: Final = Way(without_spark)


def on_spark(spark: SparkSession) -> Way:
    """Everything there is goes through this session."""
    return Way(lambda: spark, Few(bytes=0, events=0))


@dataclass(frozen=True)
class Ranger:
    """A service in the embedded Ranger Admin, and two clients: its administrator and the sync job's account."""

    service: str
    url: str
    admin: RangerAdmin
    sync: RangerAdmin

    def policies(self) -> list[Policy]:
        return self.admin.list_policies(self.service)

    def policy_version(self) -> int:
        service = self.admin.get_service(self.service)
        assert service is not None
        return int(service["policyVersion"])

    def grants(self) -> dict[str, str]:
        """Who has the only item of each enabled policy, by the values of its resource without the instance."""
        found = {}
        for policy in (each for each in self.policies() if each.is_enabled):
            levels = [values.values[0] for level, values in sorted(policy.resources.items()) if level != "instance"]
            (item,) = policy.policy_items
            found[" ".join(levels)] = item.users[0]
        return found


@pytest.fixture(scope="session")
def embedded() -> Iterator[tuple[str, RangerAdmin, RangerAdmin]]:
    with (
        EmbeddedAdmin(None, admin_password=PASSWORD) as server,
        RangerAdmin(AdminConnection(server.url, username="admin", password=Secret(PASSWORD))) as admin,
        RangerAdmin(AdminConnection(server.url, username="sync", password=Secret(PASSWORD))) as sync,
    ):
        register_cdap(admin)
        yield server.url, admin, sync


def register_cdap(admin: RangerAdmin) -> None:
    """Our service definition and some users."""
    definition = Path(servicedef.__file__).with_name("ranger-servicedef-cdap.json")
    if admin.get_service_def("cdap") is None:
        admin.create_service_def(json.loads(definition.read_text(encoding="utf-8")))
    for user in ("alice", "bob", "svc", "sync"):
        admin.create_user(user, Secret(PASSWORD), first_name=user)


def new_service(embedded: tuple[str, RangerAdmin, RangerAdmin]) -> Ranger:
    """Another service, without policies, in the same Ranger Admin."""
    url, admin, sync = embedded
    service = f"cdap-{uuid4().hex[:12]}"
    rights = {"service.admin.users": "sync", "policy.download.auth.users": "sync"}
    admin.create_service({"name": service, "type": "cdap", "isEnabled": True, "configs": rights})
    return Ranger(service, url, admin, sync)


def settings_of(ranger: Ranger, directory: Path, **sources: dict[str, Any]) -> Settings:
    """Settings whose state is in `directory`, with these sources."""
    return Settings(
        ranger=RangerSettings(url=ranger.url, service=ranger.service),
        cdap=CdapSettings(instance="cdap"),
        sync=SyncSettings(
            username="sync",
            password=Secret(PASSWORD),
            state_dir=directory / "state",
            sources=tuple(SourceSettings(name=name.replace("_", "-"), **given) for name, given in sources.items()),
        ),
    )


@pytest.fixture(scope="session", autouse=True)
def _grants_one_at_a_time() -> Iterator[None]:
    """Let runs send grants in the order of the plan, and not wait for a Ranger Admin that is stopped."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("spark_sync.grants.push.AT_A_TIME", 1)
        patch.setattr("spark_sync.grants.push.PATIENCE", 1.0)
        yield


@pytest.fixture
def new_ranger(embedded: tuple[str, RangerAdmin, RangerAdmin]) -> Callable[[], Ranger]:
    """Makes another service, without policies, in the same Ranger Admin."""
    return lambda: new_service(embedded)


@pytest.fixture
def ranger(new_ranger: Callable[[], Ranger]) -> Ranger:
    return new_ranger()


@pytest.fixture
def settings_for(ranger: Ranger, tmp_path: Path) -> Callable[..., Settings]:
    """Settings whose sources are the directories of `tmp_path` that are named."""
    return partial(settings_of, ranger, tmp_path)
