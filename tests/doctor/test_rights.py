"""The doctor's findings about rights are those that an administrator sees in the lists of the service."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

import msgspec
import pytest

from ranger_cdap.config import PluginSettings, RangerSettings, Secret, ServiceSettings, Settings, SyncSettings
from ranger_cdap.doctor import Finding, Health
from ranger_cdap.doctor.accounts import accounts, examine_account
from ranger_cdap.doctor.rights import prove
from ranger_cdap.ranger.client.downloader import COMMANDS, Downloader
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.testing.admin.caller import V2, Caller

PASSWORD: Final = Secret("Correct-Horse-1")
SERVICE: Final = "cdapdev"
DOWNLOADS: Final = ("policy.download.auth.users", "tag.download.auth.users", "userstore.download.auth.users")
ADMIN, GRANT = "service.admin.users", "policy.grantrevoke.auth.users"
RIGHTS: Final = (*DOWNLOADS, ADMIN, GRANT)
NEEDED: Final = {
    "cdapplugin": set(DOWNLOADS),
    "cdapsync": {ADMIN, DOWNLOADS[0], DOWNLOADS[2]},
    "cdapbridge": {GRANT},
}
COMBINATIONS: Final = [set(some) for size in range(len(RIGHTS) + 1) for some in combinations(RIGHTS, size)]


@dataclass
class World:
    """A service, its administrator, and the settings that name its accounts."""

    settings: Settings
    admin: RangerAdmin
    raw: Caller

    def give(self, rights: dict[str, set[str]], **configs: str) -> None:
        """Make the lists of the service exactly these."""
        lists = {right: ",".join(name for name, own in rights.items() if right in own) for right in RIGHTS}
        service = self.admin.get_service(SERVICE) or {}
        self.admin.update_service(service["id"], {**service, "configs": {**lists, **configs}})

    def lists(self) -> dict[str, set[str]]:
        """The rights of each account, as an administrator sees them."""
        configs = (self.admin.get_service(SERVICE) or {}).get("configs", {})
        return {name: {right for right in RIGHTS if name in configs.get(right, "").split(",")} for name in NEEDED}

    def findings(self) -> dict[str, dict[str, Finding]]:
        """The findings about each account, by right."""
        found: dict[str, dict[str, Finding]] = {}
        policies = None
        for account in accounts(self.settings):
            findings, downloaded = examine_account(account, self.settings, policies)
            policies = policies or downloaded
            named = {finding.check.partition(": ")[2]: finding for finding in findings}
            found[account.username] = {right: finding for right, finding in named.items() if right in RIGHTS}
        return found


@pytest.fixture
def world() -> Iterator[World]:
    with EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server:
        settings = Settings(
            ranger=RangerSettings(url=server.url),
            plugin=PluginSettings(username="cdapplugin", password=PASSWORD),
            sync=SyncSettings(username="cdapsync", password=PASSWORD),
            service=ServiceSettings(grants="bridge", bridge_username="cdapbridge", bridge_password=PASSWORD),
        )
        with RangerAdmin.connect(settings, "admin", PASSWORD) as admin:
            for name in (*NEEDED, "ann"):
                admin.create_user(name, PASSWORD)
            wanted = DesiredState(SERVICE, "cdap", admin_users=("ann",))
            service_setup.set_up(admin, wanted)
            yield World(settings, admin, Caller(server.url, password=PASSWORD.reveal()))


def expected(needed: set[str], own: set[str], right: str) -> tuple[Health, str]:
    if right == GRANT and ADMIN in own:
        health = Health.WELL if ADMIN in needed else Health.SKIPPED
        return health, "included in `service.admin.users`, so the list itself cannot be seen"
    if right in own:
        return (Health.WELL, "present") if right in needed else (Health.FAILED, "present, but must not be")
    return (Health.FAILED, "missing") if right in needed else (Health.WELL, "absent, and not needed")


def summary(found: dict[str, dict[str, Finding]]) -> dict[str, dict[str, tuple[Health, str]]]:
    return {name: {right: (f.health, f.seen) for right, f in own.items()} for name, own in found.items()}


@pytest.mark.slow
def test_findings_are_the_lists_for_every_combination_of_rights(world: World) -> None:
    size = len(COMBINATIONS)
    for number in range(size):
        # Each account goes through all combinations, beside other ones of the others.
        world.give(
            {name: COMBINATIONS[(number * step + step) % size] for name, step in zip(NEEDED, (1, 5, 11), strict=True)}
        )
        there = world.lists()
        judged = {
            name: {right: expected(needed, there[name], right) for right in RIGHTS} for name, needed in NEEDED.items()
        }
        assert summary(world.findings()) == judged


def test_the_needed_rights_are_well_and_nothing_is_left_open(world: World) -> None:
    world.give(NEEDED)
    assert {f.health for own in world.findings().values() for f in own.values()} == {Health.WELL}


@pytest.mark.parametrize("zones", [(), ("finance", "money")])
@pytest.mark.parametrize("may", [True, False])
def test_the_sync_account_writes_into_each_zone(world: World, zones: tuple[str, ...], may: bool) -> None:
    world.give(NEEDED if may else {**NEEDED, "cdapsync": set(DOWNLOADS)})
    for name in zones:
        rows = [{"instance": ["cdap"], "namespace": [f"{name}*"]}]
        people = {"adminUsers": ["ann"], "auditUsers": ["ann"]}
        zone = {"name": name, "services": {SERVICE: {"resources": rows}}, **people}
        assert world.raw("POST", f"{V2}/zones", zone)[0] == 200
    (sync,) = (account for account in accounts(world.settings) if account.purpose == "sync")
    findings, _ = examine_account(sync, world.settings)
    (found,) = (each for each in findings if each.check == f"right of {sync}: security zones")
    health = Health.WELL if may or not zones else Health.FAILED
    seen = "writes into `finance`, `money`" if may else "it cannot write into `finance`: "
    assert (found.health, found.seen[: len(seen)]) == (health, seen if zones else "the service is in none"[: len(seen)])


@pytest.mark.parametrize("account", NEEDED)
def test_an_account_administers_the_service_by_a_group_too(world: World, account: str) -> None:
    world.give({**NEEDED, "cdapsync": set(DOWNLOADS)}, **{"service.admin.groups": "ops"})
    user = world.raw("GET", f"/service/xusers/users/userName/{account}")[1]
    assert world.raw("POST", "/service/xusers/secure/groups", {"name": "ops"})[0] == 200
    assert world.raw("POST", "/service/xusers/groupusers", {"name": "ops", "userId": user["id"]})[0] == 200
    health = Health.WELL if account == "cdapsync" else Health.FAILED
    assert world.findings()[account][ADMIN].health is health


def delegate(users: list[str], **resources: str) -> Policy:
    item = PolicyItem(users=users, accesses=[PolicyItemAccess(type="read")], delegate_admin=True)
    return Policy(
        service=SERVICE,
        name="delegates",
        resources={level: PolicyResource(values=[value]) for level, value in resources.items()},
        policy_items=[item],
    )


@pytest.mark.parametrize("resources", [{"instance": "cdap", "namespace": "ns1"}, {"instance": "*", "namespace": "*"}])
def test_a_delegate_is_no_administrator_of_the_service(world: World, resources: dict[str, str]) -> None:
    world.give({**NEEDED, "cdapsync": set(DOWNLOADS)})
    world.admin.create_policy(delegate(list(NEEDED), **resources))
    found = world.findings()
    assert found["cdapsync"][ADMIN].seen == "missing"
    assert {found[name][ADMIN].health for name in ("cdapplugin", "cdapbridge")} == {Health.WELL}


def test_a_service_without_policies_hides_no_missing_and_no_dangerous_right(world: World) -> None:
    for policy in world.admin.list_policies(SERVICE):
        assert policy.id is not None
        world.admin.delete_policy(policy.id)
    world.give({**NEEDED, "cdapplugin": {*DOWNLOADS, ADMIN}, "cdapsync": set(DOWNLOADS)})
    found = world.findings()
    assert (found["cdapplugin"][ADMIN].seen, found["cdapsync"][ADMIN].seen) == ("present, but must not be", "missing")


def test_the_proofs_change_nothing_in_ranger(world: World) -> None:
    world.give({**NEEDED, "cdapplugin": set(RIGHTS)})

    def state() -> Any:
        policies = [msgspec.to_builtins(policy) for policy in world.admin.list_policies(SERVICE)]
        return policies, world.admin.get_service(SERVICE)

    before = state()
    world.findings()
    assert state() == before


# an account without a name in the settings (Kerberos), what it has, if policies are known, and the proof of ADMIN
NAMELESS = [
    ("cdapsync", {ADMIN}, True, True),
    ("cdapsync", {ADMIN}, False, "no policy is known that would show it"),
    ("cdapplugin", set(DOWNLOADS), True, False),
    ("cdapbridge", {GRANT}, True, False),
    ("cdapbridge", {GRANT}, False, "no policy is known that would show it"),
]


@pytest.mark.parametrize(("name", "own", "known", "proof"), NAMELESS)
def test_without_a_name_the_list_of_policies_proves_who_administers(
    world: World, name: str, own: set[str], known: bool, proof: bool | str
) -> None:
    world.give({"cdapplugin": set(DOWNLOADS), name: own})
    by = Downloader("cdap@here-cdapdev")
    download = world.admin.download_policies(SERVICE, last_known_version=-1, by=by)
    assert download is not None
    policies = decode_service_policies(download) if known else None
    with RangerAdmin.connect(world.settings, name, PASSWORD) as admin:
        proofs = prove(admin, "", SERVICE, by, policies).proofs
    assert (proofs[ADMIN], proofs[GRANT]) == (proof, "no user name is set")


def test_a_wrong_password_of_the_bridge_names_its_setting(world: World) -> None:
    service = msgspec.structs.replace(world.settings.service, bridge_password=Secret("wrong"))
    settings = msgspec.structs.replace(world.settings, service=service)
    bridge = next(account for account in accounts(settings) if account.purpose == "bridge")
    (finding,), _ = examine_account(bridge, settings)
    assert (finding.health, "`service.bridge_password`" in finding.advice) == (Health.FAILED, True)


def test_the_bridge_is_examined_only_where_grants_are_forwarded(world: World) -> None:
    service = msgspec.structs.replace(world.settings.service, grants="refuse")
    settings = msgspec.structs.replace(world.settings, service=service)
    assert [account.purpose for account in accounts(settings)] == ["plugin", "sync"]


def test_a_doctor_is_listed_as_no_plugin_where_none_runs(world: World) -> None:
    world.give(NEEDED)
    world.findings()
    listed = world.raw("GET", f"{V2}/plugins/info")[1]
    assert {row["appType"] for row in listed} == {COMMANDS}
