"""A CDAP with our extension, the decision service it asks, and the Ranger Admin where the policies are."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import ranger_cdap.extension
from ranger_cdap.config import (
    CallerSettings,
    CdapSettings,
    EnforceSettings,
    MasterSettings,
    PluginSettings,
    RangerSettings,
    Secret,
    ServiceSettings,
    Settings,
    SourceSettings,
    SyncSettings,
)
from ranger_cdap.service.decision_service import DecisionService
from ranger_cdap.testing import EmbeddedRanger, embedded_ranger
from ranger_cdap.testing.in_process import PLUGIN
from tests.cdap_master.in_memory_cdap import MASTER, CdapUser, InMemoryCdap

JARS = Path(ranger_cdap.extension.__file__).parent
ENFORCE, AUDIT, CONFIRM, GRANT = "cdap-enforce", "cdap-audit", "sync-confirm", "cdap-grant"
SYNC, BRIDGE = "cdapsync", "cdapbridge"


@dataclass(frozen=True)
class World:
    """What a test drives, and the secrets that must not be seen anywhere."""

    ranger: EmbeddedRanger
    service: DecisionService
    cdap: InMemoryCdap
    settings: Settings
    secrets: tuple[str, ...]

    def user(self, name: str) -> CdapUser:
        return self.cdap.user(name)

    def people(self, privileges: Mapping[str, Collection[str]]) -> None:
        """New people in Ranger who hold exactly this; in force when it returns."""
        self.ranger.give(privileges)
        self.refresh()

    def refresh(self) -> None:
        """The decision service downloads the policies now instead of at its next turn."""
        self.service.state.authorizer.refresh()


@contextmanager
def decision_service(
    ranger: EmbeddedRanger,
    directory: Path,
    master_create: str = MasterSettings().create,
    profile: str = CdapSettings().profile,
    *,
    bridge: bool = False,
    enforce: EnforceSettings = EnforceSettings(),  # noqa: B008 a frozen value
    list_ancestors: bool = False,
) -> Iterator[tuple[DecisionService, Settings]]:
    """A decision service for CDAP's extension, and the settings that the sync job has in common with it.

    With `bridge`, grants and roles of CDAP go to Ranger; the account must administer the service there.
    """
    (directory / "secrets").mkdir()
    settings = Settings(
        ranger=RangerSettings(url=ranger.url, service=ranger.service),
        cdap=CdapSettings(instance=ranger.instance, profile=profile, list_ancestors=list_ancestors),
        enforce=enforce,
        master=MasterSettings(user=MASTER, create=master_create),
        plugin=PluginSettings(
            username=PLUGIN, password=ranger.password, cache_dir=directory / "cache", poll_interval=3600
        ),
        service=ServiceSettings(
            port=0,
            callers=(
                CallerSettings(name=ENFORCE, roles=("enforce",), secret=_new_secret(directory, ENFORCE)),
                CallerSettings(name=AUDIT, roles=("audit",), secret=_new_secret(directory, AUDIT)),
                CallerSettings(name=CONFIRM, roles=("delegate",), secret=_new_secret(directory, CONFIRM)),
                CallerSettings(name=GRANT, roles=("grant",), secret=_new_secret(directory, GRANT)),
            ),
            events_dir=directory / "events",
            inventory=_nothing_yet(directory, ranger.instance),
            grants="bridge-with-roles" if bridge else "refuse",
            bridge_username=BRIDGE if bridge else "",
            bridge_password=ranger.password if bridge else Secret(""),
        ),
        sync=SyncSettings(
            hold_back=0,
            username=SYNC,
            password=ranger.password,
            state_dir=directory / "ledger",
            sources=(SourceSettings(name="cdap", kind="data-plane", path=directory / "events", callers=(AUDIT,)),),
        ),
    )
    with DecisionService(settings) as service:
        yield service, settings


@contextmanager
def world(
    ranger: EmbeddedRanger,
    directory: Path,
    jar: str,
    site: Mapping[str, str] | None = None,
    master_create: str = MasterSettings().create,
    profile: str = CdapSettings().profile,
    *,
    bridge: bool = False,
    enforce: EnforceSettings = EnforceSettings(),  # noqa: B008 a frozen value
    list_ancestors: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Iterator[World]:
    """All three, with the jar of that name; `site` are more settings of cdap-site.xml."""
    with decision_service(
        ranger, directory, master_create, profile, bridge=bridge, enforce=enforce, list_ancestors=list_ancestors
    ) as (service, settings):
        ours = {
            "url": service.url,
            "enforce.name": ENFORCE,
            "enforce.secret.file": str(_secret_file(directory, ENFORCE)),
            "audit.name": AUDIT,
            "audit.secret.file": str(_secret_file(directory, AUDIT)),
            "instance.name": ranger.instance,
            "master.user": MASTER,
        }
        if bridge:
            ours |= {"grant.name": GRANT, "grant.secret.file": str(_secret_file(directory, GRANT))}
        extension = {
            "security.authorization.extension.jar.path": str(JARS / jar),
            **{f"security.authorization.extension.config.{name}": value for name, value in ours.items()},
        }
        key_store = secrets.token_urlsafe(18)
        with InMemoryCdap(
            directory / "cdap", extension | dict(site or {}), {"security.store.file.password": key_store}, environment
        ) as cdap:
            known = [caller.secret.reveal() for caller in settings.service.callers if caller.secret]
            yield World(ranger, service, cdap, settings, (*known, key_store))


@contextmanager
def bridge_world(directory: Path, site: Mapping[str, str] | None = None) -> Iterator[World]:
    """One whose grants and roles go to a Ranger Admin of its own, where the account of the bridge administers."""
    with embedded_ranger(sync_account=SYNC, master_user=MASTER) as ranger:
        ranger.create_users(BRIDGE)
        service = ranger.admin.get_service(ranger.service)
        assert service is not None
        names = ",".join(filter(None, (service["configs"].get("service.admin.users"), BRIDGE)))
        configs = service["configs"] | {"service.admin.users": names}
        ranger.admin.update_service(service["id"], service | {"configs": configs})
        with world(ranger, directory, "ranger-cdap-extension-6.11.jar", site, bridge=True) as made:
            yield made


def wait_until(true: Callable[[], bool], what: str, seconds: float = 30.0) -> float:
    """The seconds until it was true; a failure if it never is."""
    begun = time.monotonic()
    while not true():
        assert time.monotonic() - begun < seconds, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.1)
    return time.monotonic() - begun


def _nothing_yet(directory: Path, instance: str) -> Path:
    """The inventory of a CDAP that has just begun."""
    taken = datetime.now(UTC).isoformat(timespec="milliseconds")
    file = directory / "inventory.jsonl"
    file.write_text(json.dumps({"v": 1, "instance": instance, "taken": taken}) + "\n", encoding="utf-8")
    return file


def _secret_file(directory: Path, caller: str) -> Path:
    return directory / "secrets" / caller


def _new_secret(directory: Path, caller: str) -> Secret:
    file = _secret_file(directory, caller)
    file.touch(mode=0o600)
    file.write_text(secrets.token_urlsafe(24), encoding="utf-8")
    return Secret(file.read_text(encoding="utf-8"))
