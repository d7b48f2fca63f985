"""`ranger-cdap doctor` against a Ranger Admin that is set up well, and with one thing wrong at a time."""

from __future__ import annotations

import json
import os
import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ranger_cdap.cli.doctor import print_findings
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.main import main
from ranger_cdap.config import (
    AdminSettings,
    AuditSettings,
    Configuration,
    EnforceSettings,
    MasterSettings,
    PluginSettings,
    RangerSettings,
    Secret,
    Settings,
    SourceSettings,
    SyncSettings,
)
from ranger_cdap.config.hadoop import NotUsed
from ranger_cdap.doctor import Finding, Health, examine
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.refresh.policy_refresher import PolicyRefresher
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin
from servicedef import with_lookup

PASSWORD = Secret("Correct-Horse-1")
SERVICE = "cdapdev"


@dataclass
class World:
    """A Ranger Admin that is set up for the settings, its administrator, and the directory of the test."""

    settings: Settings
    admin: RangerAdmin
    directory: Path

    def change(self, table: str, **values: Any) -> None:
        changed = msgspec.structs.replace(getattr(self.settings, table), **values)
        self.settings = msgspec.structs.replace(self.settings, **{table: changed})

    def configs(self, **lists: str) -> None:
        """Change lists of the service, written with `_` for `.`."""
        service = self.admin.get_service(SERVICE) or {}
        new = {key.replace("_", "."): value for key, value in lists.items()}
        self.admin.update_service(service["id"], {**service, "configs": {**service["configs"], **new}})

    def download(self) -> None:
        """What the plugin does: policies into the cache."""
        plugin = self.settings.plugin
        with RangerAdmin.connect(self.settings, plugin.username, plugin.password) as admin:
            refresher = PolicyRefresher(admin, self.settings)
            refresher.refresh()
            refresher.close()

    def policy(self, user: str) -> None:
        self.admin.create_policy(
            Policy(
                service=SERVICE,
                name=f"of {user}",
                resources={"instance": PolicyResource(values=["cdap"]), "namespace": PolicyResource(values=["ns1"])},
                policy_items=[PolicyItem(users=[user], accesses=[PolicyItemAccess(type="read")])],
            )
        )

    def examine(self, now: Callable[[], float] = time.time) -> tuple[Finding, ...]:
        return tuple(examine(Configuration(self.settings, {}, (), ()), now))


def state_of(directory: Path) -> Path:
    """A state directory of the sync job as its first run makes it."""
    state = directory / "sync"
    state.mkdir(mode=0o700)
    return state


def audit_of(directory: Path) -> Path:
    """The directory of audit records as the first of them makes it."""
    audit = directory / "audit"
    audit.mkdir(mode=0o700)
    return audit


@contextmanager
def set_up(directory: Path) -> Iterator[World]:
    with EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server:
        settings = Settings(
            ranger=RangerSettings(url=server.url),
            plugin=PluginSettings(username="plugin", password=PASSWORD, cache_dir=directory / "cache"),
            sync=SyncSettings(username="sync", password=PASSWORD, state_dir=state_of(directory)),
            audit=AuditSettings(file=audit_of(directory) / "records.jsonl"),
            admin=AdminSettings(users=("ann",)),
            master=MasterSettings(user="cdap"),
        )
        with RangerAdmin.connect(settings, "admin", PASSWORD) as admin:
            for name in ("plugin", "sync", "ann", "cdap"):
                admin.create_user(name, PASSWORD)
            wanted = DesiredState(
                SERVICE, "cdap", plugin_account="plugin", sync_account="sync", master_user="cdap", admin_users=("ann",)
            )
            service_setup.set_up(admin, wanted)
            world = World(settings, admin, directory)
            world.download()
            yield world


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with set_up(tmp_path_factory.mktemp("doctor")) as world:
        before = world.admin.get_service(SERVICE)
        yield world
        assert world.admin.get_service(SERVICE) == before, "a test changed what all look at; it needs `own_world`"


@pytest.fixture
def world(shared: World, tmp_path: Path) -> World:
    """Settings and cache are the test's own; Ranger Admin is shared, so nothing may be changed there."""
    shutil.copytree(shared.settings.plugin.cache_dir, tmp_path / "cache")
    world = World(shared.settings, shared.admin, tmp_path)
    world.change("plugin", cache_dir=tmp_path / "cache")
    world.change("sync", state_dir=state_of(tmp_path))
    return world


@pytest.fixture
def own_world(tmp_path: Path) -> Iterator[World]:
    """A Ranger Admin that the test may change."""
    with set_up(tmp_path) as world:
        yield world


def test_after_setup_and_a_download_all_is_well(world: World) -> None:
    assert {finding.health for finding in world.examine()} == {Health.WELL}, world.examine()


def wrong_password(world: World) -> None:
    world.change("plugin", password=Secret("wrong"))


def no_account(world: World) -> None:
    world.change("plugin", username="")


def nobody_listens(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    world.change("ranger", url=f"http://127.0.0.1:{port}")


def unknown_name(world: World) -> None:
    world.change("ranger", url="https://no-such-host.invalid:6182")


def unknown_service(world: World) -> None:
    world.change("ranger", service="nosuch")


def service_of_another_type(world: World) -> None:
    other = {
        "name": "hive",
        "displayName": "hive",
        "implClass": "",
        "resources": [{"itemId": 1, "name": "database", "type": "string", "level": 10, "matcher": ""}],
        "accessTypes": [{"itemId": 1, "name": "select", "label": "select"}],
    }
    world.admin.create_service_def(other)
    lists = dict.fromkeys(("policy.download.auth.users", "tag.download.auth.users"), "plugin,sync")
    world.admin.create_service({"name": "warehouse", "type": "hive", "isEnabled": True, "configs": lists})
    world.change("ranger", service="warehouse")


def disabled_service(world: World) -> None:
    service = world.admin.get_service(SERVICE) or {}
    world.admin.update_service(service["id"], {**service, "isEnabled": False})


def right_missing(world: World) -> None:
    world.configs(tag_download_auth_users="")


def right_too_many(world: World) -> None:
    world.configs(service_admin_users="ann,sync,plugin")


def right_to_grant(world: World) -> None:
    world.configs(policy_grantrevoke_auth_users="cdap,plugin")


def ranger_administrator(world: World) -> None:
    world.change("sync", username="admin")


def access_by_a_policy(world: World) -> None:
    world.policy("plugin")
    world.download()


def administrator_denied(world: World) -> None:
    policy = world.admin.policy_by_name(SERVICE, "instance cdap")
    assert policy is not None
    item = PolicyItem(users=["ann"], accesses=[PolicyItemAccess(type="admin")])
    world.admin.update_policy(replaced(policy, deny_policy_items=[item]))


def cache_for_everybody(world: World) -> None:
    world.settings.plugin.cache_dir.chmod(0o777)


def cache_is_a_file(world: World) -> None:
    (world.directory / "file").touch()
    world.change("plugin", cache_dir=world.directory / "file")


def history_for_everybody(world: World) -> None:
    history = world.directory / "history"
    history.mkdir()
    history.chmod(0o777)
    world.change("plugin", history_dir=history)


def state_for_everybody(world: World) -> None:
    world.settings.sync.state_dir.chmod(0o777)


def state_is_a_file(world: World) -> None:
    world.settings.sync.state_dir.rmdir()
    world.settings.sync.state_dir.touch()


def unknown_operation(world: World) -> None:
    world.change("enforce", operations=("no.such",), outside="deny")


def master_administers(world: World) -> None:
    world.change("master", user="ann")


def administrator_without_rights(world: World) -> None:
    world.change("admin", users=("ann", "bob"))


def group_without_rights(world: World) -> None:
    world.change("admin", groups=("ops",))


def former_administrator(world: World) -> None:
    world.change("admin", users=())


def look_up_without_its_jar(world: World) -> None:
    definition = world.admin.get_service_def("cdap") or {}
    world.admin.update_service_def("cdap", with_lookup(definition))


# a fault of the settings or of this machine, the check that fails, and the remedy
FAULTS_HERE = [
    (wrong_password, "sign-in of plugin account `plugin`", "password"),
    (no_account, "sign-in of plugin account", "plugin.username"),
    (nobody_listens, "connection to", "start Ranger Admin"),
    (unknown_name, "name of", "ranger.url"),
    (unknown_service, "service", "setup"),
    (ranger_administrator, "right of sync account `admin`: tag.download.auth.users", "ordinary user"),
    (cache_for_everybody, "cache directory", "chmod"),
    (cache_is_a_file, "cache directory", "chown"),
    (history_for_everybody, "history directory", "chmod"),
    (state_for_everybody, "state directory", "chmod"),
    (state_is_a_file, "state directory", "chown"),
    (unknown_operation, "enforcement", "[enforce]"),
    (master_administers, "administrators", "admin.users"),
    (administrator_without_rights, "administrators in Ranger", "setup"),
    (group_without_rights, "administrators in Ranger", "setup"),
    (former_administrator, "rights by `setup`", "setup"),
]
# the same of a fault in Ranger Admin
FAULTS_THERE = [
    (service_of_another_type, "service", "ranger.service"),
    (disabled_service, "service", "enable it"),
    (right_missing, "right of plugin account `plugin`: tag.download.auth.users", "setup"),
    (right_too_many, "right of plugin account `plugin`: service.admin.users", "remove it from"),
    (right_to_grant, "right of plugin account `plugin`: policy.grantrevoke.auth.users", "remove it from"),
    (access_by_a_policy, "policies of plugin account `plugin`", "remove it from"),
    (administrator_denied, "administrators in Ranger", "allow what other policies deny"),
    (look_up_without_its_jar, "look-up jar in Ranger Admin", "ranger-cdap extension ranger"),
]


def is_found_with_its_remedy(world: World, check: str, advice: str) -> None:
    findings = world.examine()
    found = [finding for finding in findings if finding.health is Health.FAILED]
    assert any(finding.check.startswith(check) and advice in finding.advice for finding in found), found
    assert PASSWORD.reveal() not in repr(found)
    checks = [finding.check for finding in findings]
    assert len(checks) == len(set(checks)), "something is said twice"


@pytest.mark.parametrize(("fault", "check", "advice"), FAULTS_HERE, ids=[fault[0].__name__ for fault in FAULTS_HERE])
def test_a_fault_here_is_found_and_the_remedy_told(
    world: World, fault: Callable[[World], None], check: str, advice: str
) -> None:
    fault(world)
    is_found_with_its_remedy(world, check, advice)


@pytest.mark.parametrize(("fault", "check", "advice"), FAULTS_THERE, ids=[fault[0].__name__ for fault in FAULTS_THERE])
def test_a_fault_in_ranger_admin_is_found_and_the_remedy_told(
    own_world: World, fault: Callable[[World], None], check: str, advice: str
) -> None:
    fault(own_world)
    is_found_with_its_remedy(own_world, check, advice)


def test_who_gets_and_who_loses_administration_is_named_and_setup_ends_it(own_world: World) -> None:
    own_world.change("admin", users=("bob",))
    own_world.admin.create_user("bob", PASSWORD)
    found = {finding.check: finding for finding in own_world.examine()}
    assert "give read, write, admin for bob; revoke read, write, admin for ann" in found["rights by `setup`"].seen
    assert "bob lacks READ, WRITE, ADMIN" in found["administrators in Ranger"].seen
    wanted = DesiredState.of(own_world.settings)
    service_setup.set_up(own_world.admin, wanted)
    own_world.download()
    assert {finding.health for finding in own_world.examine()} == {Health.WELL}


def test_administrators_by_what_people_wrote_are_named(own_world: World) -> None:
    own_world.admin.create_user("carol", PASSWORD)
    policy = own_world.admin.policy_by_name(SERVICE, "instance cdap")
    assert policy is not None
    item = PolicyItem(users=["carol"], accesses=[PolicyItemAccess(type="admin")])
    own_world.admin.update_policy(replaced(policy, policy_items=[*policy.policy_items, item]))
    found = {finding.check: finding for finding in own_world.examine()}["administrators in Ranger"]
    assert (found.health, found.seen) == (Health.WELL, "ann; also, by what people wrote: carol")


def test_a_wrong_password_is_tried_once(own_world: World) -> None:
    own_world.change("plugin", password=Secret("wrong"))
    for _ in range(4):
        own_world.examine()
    own_world.change("plugin", password=PASSWORD)  # a fifth failure would have locked the account
    assert not [finding for finding in own_world.examine() if finding.health is Health.FAILED]


def test_a_plugin_that_does_not_refresh_is_found_by_its_version(own_world: World) -> None:
    own_world.policy("ann")
    interval = own_world.settings.plugin.poll_interval
    cached = {h: f for f in own_world.examine() if f.check == "policies in the cache" for h in [f.health]}
    later = {f.check: f.health for f in own_world.examine(lambda: time.time() + 4 * interval)}
    assert cached.keys() == {Health.WELL}
    assert later["policies in the cache"] is Health.FAILED


def as_it_is(cache: Path) -> None:
    pass


def no_directory(cache: Path) -> None:
    shutil.rmtree(cache)


def no_lock(cache: Path) -> None:
    (cache / "cdap_cdapdev.lock").unlink()


def cut_short(cache: Path) -> None:
    os.truncate(cache / "cdap_cdapdev.json", 1000)


def of_another_service(cache: Path) -> None:
    roles = cache / "cdap_cdapdev_roles.json"
    roles.write_text(json.dumps({**json.loads(roles.read_text()), "serviceName": "other"}))


def no_roles(cache: Path) -> None:
    (cache / "cdap_cdapdev_roles.json").unlink()


def contact_unreadable(cache: Path) -> None:
    (cache / "cdap_cdapdev_contact.json").write_text("{")


# the cache before, and how its check comes out
CACHES = [
    (as_it_is, Health.WELL),
    (no_directory, None),
    (no_lock, Health.WELL),
    (cut_short, Health.FAILED),
    (of_another_service, Health.FAILED),
    (no_roles, Health.FAILED),
    (contact_unreadable, Health.WELL),
]


@pytest.mark.parametrize(("spoil", "health"), CACHES, ids=[spoil.__name__ for spoil, _ in CACHES])
def test_whatever_is_in_the_cache_the_doctor_looks_and_changes_nothing(
    world: World, spoil: Callable[[Path], None], health: Health | None
) -> None:
    def tree() -> dict[Path, tuple[bytes, int, int, int]]:
        return {
            path: (path.read_bytes() if path.is_file() else b"", s.st_mode, s.st_mtime_ns, s.st_ino)
            for path in sorted(world.directory.rglob("*"))
            for s in [path.stat()]
        }

    spoil(world.settings.plugin.cache_dir)
    before = tree()
    found = {finding.check: finding.health for finding in world.examine()}
    assert tree() == before
    assert found.get("policies in the cache") is health


def test_a_secret_everybody_can_read_is_noted(world: World) -> None:
    exposed = (world.directory / "ranger-cdap.toml",)
    (found,) = [f for f in examine(Configuration(world.settings, {}, (), exposed)) if f.check == "secrets"]
    assert (found.health, str(exposed[0]) in found.seen, "chmod" in found.advice) == (Health.NOTE, True, True)


def test_clocks_that_disagree_are_found(world: World) -> None:
    clock = [f for f in world.examine(lambda: time.time() + 3600) if f.check.startswith("clock")]
    assert [finding.health for finding in clock] == [Health.FAILED]


def test_what_is_not_enforced_is_noted_and_loudest_where_it_allows(world: World) -> None:
    world.settings = msgspec.structs.replace(world.settings, enforce=EnforceSettings(operations=(), outside="report"))
    seen = {finding.check: finding for finding in world.examine()}["enforcement"]
    assert (seen.health, "ALLOWED" in seen.seen) == (Health.NOTE, True)


@pytest.mark.parametrize(("user", "health"), [("cdap", Health.WELL), ("", Health.NOTE)])
def test_the_master_user_in_force_is_named_whether_somebody_set_it_or_not(
    world: World, user: str, health: Health
) -> None:
    world.change("master", user=user)
    seen = {finding.check: finding for finding in world.examine()}["master user"]
    assert (seen.health, seen.seen.startswith("`cdap`, creating: preview")) == (health, True)
    assert ("`master.user`" in seen.advice) is (health is Health.NOTE)


def test_the_default_master_user_is_no_administrator(world: World) -> None:
    world.change("master", user="")
    world.change("admin", users=("ann", "cdap"))
    assert {finding.check: finding for finding in world.examine()}["administrators"].health is Health.FAILED


# the way of signing in, and what is to be done where it is refused
WAYS = {"basic": "`plugin.password`", "bearer": "a valid token"}


@pytest.mark.parametrize(("way", "advice"), WAYS.items())
def test_a_refused_sign_in_says_what_that_way_needs(world: World, way: str, advice: str) -> None:
    wrong_password(world)
    world.change("ranger", auth=way)
    (found,) = [f for f in world.examine() if f.check == "sign-in of plugin account `plugin`"]
    assert (found.health, advice in found.advice) == (Health.FAILED, True), found


def test_no_finding_shows_what_a_program_says_to_itself(world: World) -> None:
    """`[Errno 111]` and `(_ssl.c:1006)` are for programmers."""
    nobody_listens(world)
    world.change("plugin", cache_dir=world.directory / ("x" * 300))
    source = SourceSettings(name="audit", kind="audit", path=world.directory / ("y" * 300))
    world.change("sync", sources=(source,))
    said = " ".join(finding.seen + finding.advice for finding in world.examine())
    assert "[Errno" not in said
    assert "_ssl" not in said


def test_java_s_keys_without_effect_are_noted(world: World) -> None:
    key = NotUsed("ranger.plugin.cdap.super.users", Path("ranger-cdap-security.xml"), "no setting")
    findings = tuple(examine(Configuration(world.settings, {}, (key,), ())))
    assert any(key.key in finding.seen for finding in findings if finding.health is Health.NOTE)


def test_the_command_fails_with_what_failed(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(world.directory)
    monkeypatch.setenv("PLUGIN_PASSWORD", PASSWORD.reveal())
    ranger, plugin = world.settings.ranger, world.settings.plugin
    base = ["--json", "--set", f"ranger.url={ranger.url}", "--set", "plugin.username=plugin"]
    base += ["--set", "plugin.password=env:PLUGIN_PASSWORD", "--set", f"plugin.cache_dir={plugin.cache_dir}"]
    base += ["--set", "admin.users=ann", "--set", "master.user=cdap"]

    assert main([*base, "doctor"]) == 0
    findings = json.loads(capsys.readouterr().out)
    assert {finding["health"] for finding in findings} <= {"well", "note", "not checked"}

    assert main([*base, "--set", "ranger.service=nosuch", "doctor"]) == 2
    assert any(finding["health"] == "failed" for finding in json.loads(capsys.readouterr().out))


def test_people_get_a_line_for_each_check_below_it_what_to_do_and_a_sum(capsys: pytest.CaptureFixture[str]) -> None:
    findings = (Finding("a", Health.WELL, "as it should"), Finding("b", Health.FAILED, "is wrong", "do this"))
    print_findings(Invocation(), findings)
    assert capsys.readouterr().out.splitlines() == [
        "well         a: as it should",
        "failed       b: is wrong",
        "             do this",
        "2 checks: 1 well, 1 failed",
    ]
