"""Security zones over the entities of creators: what a run says is granted, the engine grants."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from apache_ranger.client.ranger_client import RangerClient

from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cli.main import main
from ranger_cdap.config import Settings
from ranger_cdap.engine import AccessRequest, PolicyEngine
from ranger_cdap.errors import AccessForbidden, RequestRejected
from ranger_cdap.ranger.client.responses import AdminResponse, to_error
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.download import SecurityZoneInfo
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.own_right import covers
from spark_sync.grants.policy_rest import PolicyRest
from spark_sync.ledger.ledger import LedgerChange
from spark_sync.ledger.ledger_rows import life_of, life_row
from spark_sync.ledger.ledger_version import note_versions
from spark_sync.ledger.life import Life, State
from spark_sync.reconcile.drift import Drift, DriftFinding
from spark_sync.reconcile.reconcile import reconcile
from spark_sync.reconcile.regrant import regrant
from spark_sync.report import RunReport
from tests.spark_sync.conftest import PASSWORD, Ranger
from tests.spark_sync.grants.fixtures import ALL, Watched, gone, item, life
from tests.spark_sync.grants.in_effect import download
from tests.spark_sync.test_job import ledger_of
from tests.spark_sync.test_job import run as run_once
from tests.testing.admin.caller import V2, Caller

NAMESPACE, DATASET, APP, OUTSIDE = (
    EntityId("namespace", ("fin9",)),
    EntityId("dataset", ("fin9", "kv")),
    EntityId("application", ("fin9", "shop")),
    EntityId("dataset", ("sales", "kv")),
)
INSIDE = (NAMESPACE, DATASET, APP)
Row = dict[str, list[str]]
PROGRAMS = {"application": {"program": "*"}}


class Estate:
    """A service, its zones, and the job."""

    def __init__(self, ranger: Ranger, settings: Settings) -> None:
        self.ranger, self.settings = ranger, settings
        self.zones: dict[str, int] = {}
        self.finance, self.money = (f"{name}-{uuid4().hex[:8]}" for name in ("finance", "money"))

    def zone(self, name: str, *namespaces: str, was: str = "", **levels: list[str]) -> None:
        """Make a zone, or change the one of that name."""
        rows = [{"instance": ["cdap"], "namespace": list(namespaces or ("fin*",)), **levels}]
        zone = {
            "name": name,
            "services": {self.ranger.service: {"resources": rows}},
            "adminUsers": ["bob"],
            "auditUsers": ["bob"],
        }
        if known := self.zones.pop(was or name, None):
            self.zones[name] = known
            self.send("PUT", f"/{known}", zone | {"id": known})
        else:
            self.zones[name] = self.send("POST", "", zone)["id"]

    def drop(self, name: str) -> None:
        self.send("DELETE", f"/{self.zones.pop(name)}", None)

    def send(self, method: str, path: str, body: Any) -> Any:
        status, answer = Caller(self.ranger.url, password=PASSWORD)(method, f"{V2}/zones{path}", body)
        assert status in (200, 204), answer
        return answer

    def record(self, *lives: Life) -> None:
        ledger = ledger_of(self.settings)
        ledger.record([LedgerChange(None, each) for each in lives])
        note_versions(ledger)

    def lives(self) -> dict[EntityId, Life]:
        return {each.entity: each for each in ledger_of(self.settings).lives(list(State))}

    def run(self, ranger: PolicyRest | None = None, **settings: Any) -> RunReport:
        sync = replaced(self.settings.sync, **settings)
        return run_once(replaced(self.settings, sync=sync), ranger=ranger)

    def policies(self) -> dict[str, list[Policy]]:
        """Those of the job, by zone."""
        found = {
            zone: self.ranger.admin.list_policies(self.ranger.service, zone)
            for zone in ("", *self.ranger.admin.security_zones(self.ranger.service))
        }
        return {zone: ours for zone, some in found.items() if (ours := [p for p in some if "created" in p.name])}

    def drift(self) -> tuple[DriftFinding, ...]:
        return reconcile(self.settings).left

    def check(self) -> set[EntityId]:
        """The entities whose creators the engine allows everything; the law."""
        policies = replaced(decode_service_policies(download(self.ranger)), tag_policies=None)
        engine = PolicyEngine.build(policies)
        allowed = {
            entity
            for entity, each in self.lives().items()
            if all(
                engine.evaluate(
                    AccessRequest(resource=to_resource(entity, "cdap"), access_type=access, user=each.creator or "")
                ).allowed
                for access in ALL
            )
        }
        for entity, each in self.lives().items():
            assert (each.state is State.APPLIED) == (entity in allowed), each
        return allowed


@pytest.fixture
def estate(ranger: Ranger, settings_for: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch) -> Iterator[Estate]:
    monkeypatch.setattr("spark_sync.grants.observe.EVERY", 0)
    made = Estate(ranger, settings_for())
    yield made
    for name in tuple(made.zones):
        made.drop(name)


def created(*entities: EntityId) -> list[Life]:
    return [life("alice", entity) for entity in entities]


def test_a_grant_is_written_into_the_zone_of_its_entity(estate: Estate) -> None:
    estate.zone(estate.finance)
    estate.record(*created(*INSIDE, OUTSIDE))
    report = estate.run()
    assert {each.entity: each.zone for each in report.granted} == {
        **dict.fromkeys(INSIDE, estate.finance),
        OUTSIDE: "",
    }
    assert estate.check() == {*INSIDE, OUTSIDE}
    assert {zone: len(found) for zone, found in estate.policies().items()} == {estate.finance: 3, "": 1}
    assert estate.drift() == ()


def test_what_is_above_a_zone_is_outside_of_it(estate: Estate) -> None:
    estate.zone(estate.finance, "fin9", dataset=["kv"])
    estate.record(*created(*INSIDE))
    estate.run()
    assert {each.entity: each.zone for each in estate.lives().values()} == {
        NAMESPACE: "",
        DATASET: estate.finance,
        APP: "",
    }
    assert estate.check() == {*INSIDE}


def test_the_grant_in_a_zone_ends_with_its_entity(estate: Estate) -> None:
    estate.zone(estate.finance)
    estate.record(*created(*INSIDE))
    estate.run()
    estate.zone(estate.money, was=estate.finance)
    lives = estate.lives()
    ledger = ledger_of(estate.settings)
    ledger.record(LedgerChange(lives[entity], gone(lives[entity])) for entity in INSIDE)
    note_versions(ledger)
    assert len(estate.run().revoked) == 3
    assert estate.policies() == {}


@pytest.mark.parametrize(("on_deletion", "left"), [("report", ["bob"]), ("revoke-exact", [])])
def test_rights_of_others_in_a_zone_on_a_deleted_entity(estate: Estate, on_deletion: str, left: list[str]) -> None:
    estate.zone(estate.finance)
    estate.record(*created(DATASET))
    estate.run()
    (ours,) = estate.policies()[estate.finance]
    theirs = replaced(
        ours, id=None, guid="", name="theirs", additional_resources=[], policy_items=[item("bob", "read")]
    )
    estate.ranger.admin.create_policy(theirs)
    ledger = ledger_of(estate.settings)
    ledger.record([LedgerChange(None, gone(estate.lives()[DATASET]))])
    note_versions(ledger)
    estate.run(on_deletion=on_deletion)
    estate.run(on_deletion=on_deletion)
    assert ("user `bob`" in estate.lives()[DATASET].reason) == bool(left)
    listed = estate.ranger.admin.list_policies(estate.ranger.service, estate.finance)
    (there,) = (policy for policy in listed if policy.name == "theirs")
    assert [user for each in there.policy_items for user in each.users] == left


def test_grants_of_a_zone_that_goes_are_written_outside_again(estate: Estate) -> None:
    estate.zone(estate.finance)
    estate.record(*created(*INSIDE))
    estate.run()
    estate.drop(estate.finance)
    assert estate.drift() == ()
    report = estate.run()
    assert (len(report.granted), report.went_back) == (3, "")
    assert estate.check() == {*INSIDE}
    assert {each.zone for each in estate.lives().values()} == {""}


def test_a_renamed_zone_keeps_its_grants(estate: Estate) -> None:
    estate.zone(estate.finance)
    estate.record(*created(*INSIDE))
    before = {each.entity: each.policy_id for each in estate.run().granted}
    estate.zone(estate.money, was=estate.finance)
    report = estate.run()
    assert ([*report.granted], [*report.waiting]) == ([], [])
    assert {each.entity: each.policy_id for each in estate.lives().values()} == before
    assert {each.zone for each in estate.lives().values()} == {estate.money}
    assert estate.check() == {*INSIDE}


def test_a_grant_whose_zone_becomes_narrower_is_written_outside(estate: Estate) -> None:
    estate.zone(estate.finance)
    estate.record(*created(*INSIDE))
    estate.run()
    estate.zone(estate.finance, "fin1")
    assert len(estate.run().granted) == 3
    assert estate.check() == {*INSIDE}
    assert {zone: len(found) for zone, found in estate.policies().items()} == {"": 3}


def test_a_zone_over_existing_grants_waits_for_its_administrator(estate: Estate) -> None:
    estate.record(*created(*INSIDE))
    estate.run()
    estate.zone(estate.finance)
    report = estate.run()
    assert {each.entity for each in report.waiting} == {*INSIDE}
    for each in report.waiting:
        assert each.reason.startswith(f"zone {estate.finance}: ")
        assert f"`ranger-cdap sync rezone --zone {estate.finance}`" in each.reason
    assert estate.check() == set()
    assert [*estate.run().waiting] == [*report.waiting]
    assert {(each.drift, each.entity) for each in estate.drift()} == {(Drift.WRONG_ZONE, each) for each in INSIDE}
    estate.drop(estate.finance)
    assert len(estate.run().granted) == 3
    assert estate.check() == {*INSIDE}


def test_with_follow_each_run_moves_the_grants(estate: Estate) -> None:
    estate.record(*created(*INSIDE))
    estate.run()
    (edited,) = (p for p in estate.policies()[""] if "dataset" in p.resources)
    estate.ranger.admin.update_policy(replaced(edited, policy_items=[*edited.policy_items, item("bob", "read")]))
    estate.zone(estate.finance)
    assert len(estate.run(zones="follow").granted) == 3
    assert estate.check() == {*INSIDE}
    found = estate.policies()
    (left,) = found[""]
    assert (len(found[estate.finance]), left.id) == (3, edited.id)
    assert [user for each in left.policy_items for user in each.users] == ["bob"]
    assert estate.run(zones="follow").wrote_nothing


class OtherZones:
    """The sync job's client where Ranger answers with these zones."""

    def __init__(self, ranger: Ranger, **rows: Row) -> None:
        self.sync, self.zones = ranger.sync, {name: SecurityZoneInfo(resources=[row]) for name, row in rows.items()}

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sync, name)

    def security_zones(self, service: str) -> dict[str, SecurityZoneInfo]:
        return self.zones


SEVERAL = {"one": {"instance": ["cdap"], "namespace": ["fin*"]}, "two": {"instance": ["cdap"], "namespace": ["fin9"]}}


@pytest.mark.parametrize(
    ("zones", "reason"), [({"finance": {"namespace": ["fin*"]}}, "zone unknown: "), (SEVERAL, "zone unclear: ")]
)
def test_an_entity_whose_zone_is_uncertain_is_blocked_until_it_is_certain(
    estate: Estate, zones: dict[str, Row], reason: str
) -> None:
    estate.record(*created(DATASET))
    odd: Any = OtherZones(estate.ranger, **zones)
    for _ in range(2):
        (waiting,) = estate.run(odd).waiting
        assert (waiting.state, waiting.reason[:14]) == (State.BLOCKED, reason)
        assert estate.policies() == {}
    estate.zone(estate.finance)  # what was never granted is not asked about
    estate.run()
    assert estate.check() == {DATASET}


@pytest.mark.parametrize("zones", ["ask", "follow"])
def test_a_grant_that_went_with_its_zone_says_so_and_waits(estate: Estate, zones: str) -> None:
    estate.zone(estate.finance)
    estate.record(*created(*INSIDE))
    estate.run()
    estate.drop(estate.finance)
    estate.zone(estate.money)  # or finance by another name, in which a person deleted the policies
    for _ in range(2):
        report = estate.run(zones=zones)
        assert {each.entity for each in report.waiting} == {*INSIDE}
        for each in report.waiting:
            assert each.reason == (
                f"zone {estate.money}: its grant went with zone `{estate.finance}`;"
                f" `ranger-cdap sync rezone --zone {estate.money}` writes it there"
            )
        assert estate.check() == set()
    assert len(regrant(estate.settings, zone=estate.money, send=True).outcomes) == 3
    assert estate.check() == {*INSIDE}


def test_a_run_reads_the_zones_once(estate: Estate) -> None:
    estate.zone(estate.finance)
    estate.record(*created(*INSIDE))
    ranger = Watched(estate.ranger.sync)
    estate.run(ranger=ranger)
    estate.zone(estate.finance, "fin1")
    for count in (1, 2):
        assert ranger.names.count("security_zones") == count
        estate.run(ranger=ranger)


WITHOUT_MODULE = AdminResponse(
    "GET",
    "service/public/v2/api/zones",
    400,
    json.dumps(
        {
            "statusCode": 1,
            "msgDesc": "User is not authorized to access zone(s).",
            "messageList": [{"name": "OPER_NO_PERMISSION", "rbKey": "xa.error.oper_no_permission"}],
        }
    ).encode(),
)
"""Ranger's answer to an account without the module *Security Zone* (`SecurityZoneREST`, read in the source)."""


@pytest.mark.parametrize(("is_in_zone", "may_download"), [(True, True), (False, True), (True, False)])
def test_an_account_without_the_module_reads_zones_from_its_download(
    estate: Estate, monkeypatch: pytest.MonkeyPatch, is_in_zone: bool, may_download: bool
) -> None:
    if is_in_zone:
        estate.zone(estate.finance)
    service = estate.ranger.admin.get_service(estate.ranger.service) or {}
    download = {"policy.download.auth.users": "sync"} if may_download else {"service.admin.users": "sync"}
    estate.ranger.admin.update_service(service["id"], {**service, "configs": {**service["configs"], **download}})
    http = estate.ranger.sync._http

    def answered(api: Any, *args: Any, **named: Any) -> Any:
        if api is RangerClient.FIND_ZONES:
            raise to_error(WITHOUT_MODULE)
        if api.path.startswith("service/plugins/secure/policies/download/") and not may_download:
            raise AccessForbidden("policy.download.auth.users")
        return fetch(api, *args, **named)

    fetch = http.fetch
    monkeypatch.setattr(http, "fetch", answered)
    estate.record(*created(DATASET))
    report = estate.run(estate.ranger.sync)
    monkeypatch.undo()
    if may_download:
        assert [each.zone for each in report.granted] == [estate.finance if is_in_zone else ""]
        assert estate.check() == {DATASET}
    else:  # unknown counts as undecided
        assert "policy.download.auth.users" in str(report.error)
        assert (estate.policies(), estate.lives()[DATASET].state) == ({}, State.PENDING)


def test_rezone_shows_and_moves_what_waits_for_a_zone(
    estate: Estate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ranger-cdap.toml").touch(mode=0o600)
    Path("ranger-cdap.toml").write_text(
        f'[ranger]\nurl = "{estate.ranger.url}"\nservice = "{estate.ranger.service}"\n'
        f'[sync]\nusername = "sync"\npassword = "{PASSWORD}"\nstate_dir = "{estate.settings.sync.state_dir}"\n'
    )
    estate.record(*created(*INSIDE))
    estate.run()
    estate.zone(estate.finance)
    estate.run()
    for words, said, left in (
        ((), f"nothing was sent; grants to move into zone {estate.finance}: 3; `--yes` sends them", 3),
        (("--yes",), "Ranger is up to date: 3 granted, 0 changed, 0 revoked, 0 kept", 0),
        ((), f"nothing was sent; grants to move into zone {estate.finance}: 0", 0),
    ):
        assert main(["sync", "rezone", "--zone", estate.finance, *words]) == 0
        assert capsys.readouterr().out.splitlines()[-1] == said
        assert len([each for each in estate.lives().values() if each.waits_for_zone]) == left
    assert estate.check() == {*INSIDE}
    assert {zone: len(found) for zone, found in estate.policies().items()} == {estate.finance: 3}
    assert main(["sync", "rezone", "--zone", "none"]) == 3
    assert "Ranger's service has no security zone `none`" in capsys.readouterr().err


def test_a_killed_move_is_finished_by_the_next_run(estate: Estate) -> None:
    estate.record(*created(*INSIDE))
    estate.run()
    estate.zone(estate.finance)
    for number in range(1, 40):
        ranger = Watched(estate.ranger.sync, after=lambda _, n, number=number: kill(n == number))  # type: ignore[misc]
        with suppress(KeyboardInterrupt):
            estate.run(zones="follow", ranger=ranger)
            break
        for entity in INSIDE:  # the policy outside stays until there is one inside
            policies = [p for some in estate.policies().values() for p in some]
            assert any(covers(p, to_resource(entity, "cdap") | PROGRAMS.get(entity.type, {})) for p in policies)
    estate.run(zones="follow")
    assert estate.check() == {*INSIDE}
    assert {zone: len(found) for zone, found in estate.policies().items()} == {estate.finance: 3}


@pytest.mark.parametrize("refused", [False, True])
def test_what_a_killed_move_wrote_goes_if_a_person_took_the_right_or_says_why_not(
    estate: Estate, refused: bool
) -> None:
    estate.record(*created(DATASET))
    estate.run()
    estate.zone(estate.finance)
    with suppress(KeyboardInterrupt):
        after = Watched(estate.ranger.sync, after=lambda name, _: kill(name == "create_policy"))
        estate.run(zones="follow", ranger=after)
    (outside,), (inside,) = estate.policies()[""], estate.policies()[estate.finance]
    estate.ranger.admin.update_policy(replaced(outside, policy_items=[item("bob", *ALL)]))

    def refuse(name: str, _: int) -> None:
        if refused and name in ("delete_policy", "update_policy"):
            raise RequestRejected("not today", status=400)

    estate.run(zones="follow", ranger=Watched(estate.ranger.sync, before=refuse))
    (found,) = estate.lives().values()
    assert (found.state, "not today" in found.reason) == (State.BLOCKED, refused), found
    assert (inside in estate.policies().get(estate.finance, [])) is refused


def kill(now: bool) -> None:
    if now:
        raise KeyboardInterrupt


def test_an_account_that_may_not_write_into_the_zone(estate: Estate) -> None:
    estate.zone(estate.finance)
    estate.record(*created(DATASET))

    def forbid(name: str, _: int) -> None:
        if name == "create_policy":
            raise AccessForbidden("no")

    (waiting,) = estate.run(ranger=Watched(estate.ranger.sync, before=forbid)).waiting
    assert "`service.admin.users`" in waiting.reason
    assert waiting.waits_for_zone
    estate.run()
    assert estate.check() == {DATASET}


def test_a_grant_from_before_zones_is_read_as_outside(estate: Estate) -> None:
    row = life_row("cdap", life("alice", DATASET))
    assert life_of({**row, "zone": None, "moves": None}) == life("alice", DATASET)
