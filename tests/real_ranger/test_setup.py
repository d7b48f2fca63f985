"""`ranger-cdap setup` on a server without the service, then with it; and the doctor's proofs of the rights it gave."""

from __future__ import annotations

import json

import pytest

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.entity import entity_id
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.config import Settings
from ranger_cdap.doctor import Health
from ranger_cdap.doctor.accounts import accounts, examine_account, examine_service
from ranger_cdap.doctor.rights import GRANT, POLICY_DOWNLOAD, SERVICE_ADMIN, TAG_DOWNLOAD, USER_STORE_DOWNLOAD
from tests.real_ranger.estate import V2, Estate
from tests.real_ranger.ui_forms import POLICIES, item, new_policy

LISTS = (POLICY_DOWNLOAD, TAG_DOWNLOAD, USER_STORE_DOWNLOAD, SERVICE_ADMIN, GRANT)
NEEDED = {
    "plugin": {POLICY_DOWNLOAD, TAG_DOWNLOAD, USER_STORE_DOWNLOAD},
    "sync": {SERVICE_ADMIN, POLICY_DOWNLOAD, USER_STORE_DOWNLOAD},
    "bridge": {GRANT},
}


def test_a_dry_run_writes_nothing_and_a_second_run_finds_nothing_to_do(
    estate: Estate, capsys: pytest.CaptureFixture[str]
) -> None:
    named = ("--set", f"admin.users={estate.user('ann')}", "--set", f"admin.groups={estate.group('ops')}")
    words = (*named, "setup")
    assert estate.config.exists()
    before = estate.state()
    assert estate.run(*words, "--dry-run") == ExitCode.NO
    assert estate.state() == before
    assert estate.run(*words, "--yes") == 0
    service = estate.done("GET", f"{V2}/service/name/{estate.service}")
    assert service["configs"][SERVICE_ADMIN].split(",") == [estate.name("sync"), estate.name("ann")]
    versions = estate.versions()
    capsys.readouterr()
    assert estate.run(*words, "--yes") == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} == {"keep"}
    assert estate.versions() == versions


def test_somebody_ranger_does_not_know_stops_it_before_anything_is_written(
    estate: Estate, capsys: pytest.CaptureFixture[str]
) -> None:
    assert estate.config.exists()
    before = estate.state()
    assert estate.run("--set", f"admin.users={estate.name('ghost')}", "setup", "--yes") == 3
    assert f"Ranger has no user `{estate.name('ghost')}`" in capsys.readouterr().err
    assert estate.state() == before


def seen(settings: Settings) -> dict[str, dict[str, str]]:
    """What the doctor sees of each account's rights, where it is not well."""
    found, policies = dict[str, dict[str, str]](), None
    for account in accounts(settings):
        findings, downloaded = examine_account(account, settings, policies)
        policies = policies or downloaded
        named = {finding.check.partition(": ")[2]: finding for finding in findings}
        found[account.purpose] = {
            right: finding.seen
            for right, finding in named.items()
            if right in LISTS and finding.health is not Health.WELL
        }
    return found


def give(estate: Estate, rights: dict[str, set[str]]) -> None:
    service = estate.done("GET", f"{V2}/service/name/{estate.service}")
    names = {right: [estate.name(what) for what, own in rights.items() if right in own] for right in LISTS}
    configs = service["configs"] | {right: ",".join(listed) for right, listed in names.items()}
    estate.done("PUT", f"{V2}/service/{service['id']}", service | {"configs": configs})


def test_the_doctor_finds_the_rights_of_setup_well_and_changes_nothing(estate: Estate) -> None:
    estate.set_up()
    before, versions = estate.state(), estate.versions()
    assert seen(estate.settings) == {"plugin": {}, "sync": {}, "bridge": {}}
    assert (estate.state(), estate.versions()) == (before, versions)


@pytest.mark.parametrize("purpose", NEEDED)
@pytest.mark.parametrize("right", LISTS)
def test_the_doctor_proves_each_right_that_is_missing_or_too_much(estate: Estate, purpose: str, right: str) -> None:
    """Law: whatever one list lacks or has too much, the doctor says so of that account; the others stay well."""
    estate.set_up()
    estate.done("POST", f"{V2}/policy", anything(estate))
    give(estate, NEEDED | {purpose: NEEDED[purpose] ^ {right}})
    found = seen(estate.settings)
    wrong = "missing" if right in NEEDED[purpose] else "present, but must not be"
    if right == GRANT and purpose == "sync":
        wrong = ""  # included in SERVICE_ADMIN, so that list itself cannot be seen
    others = {what: own for what, own in found.items() if what != purpose}
    assert found[purpose].get(right, "") == wrong
    assert others == {what: {} for what in NEEDED if what != purpose}


def anything(estate: Estate) -> dict[str, object]:
    item = {"users": [estate.user("alice")], "accesses": [{"type": "read"}]}
    resources = {"instance": {"values": ["cdap"]}, "namespace": {"values": ["ns1"]}}
    return {"service": estate.service, "name": "p", "resources": resources, "policyItems": [item]}


@pytest.mark.parametrize("filters", [None, "[]"], ids=["by default", "switched off"])
def test_a_denial_that_no_policy_decides_is_audited_unless_people_object(estate: Estate, filters: str | None) -> None:
    alice, eve = estate.user("alice"), estate.user("eve")
    estate.set_up(**({} if filters is None else {"ranger_plugin_audit_filters": filters}))
    row, levels = item("read", users=[alice]), {"instance": ["cdap"], "namespace": ["sales"], "dataset": ["orders"]}
    estate.done("POST", POLICIES, new_policy(estate.service, "p", levels, policyItems=[row]))
    with Authorizer.open(estate.settings, refresh_in_background=False) as authorizer:
        for user, name in ((alice, "orders"), (eve, "other")):
            authorizer.check(user, (), "dataset.get", entity_id("dataset", ["sales", name]))
    lines = (estate.directory / "audit.jsonl").read_text(encoding="utf-8").splitlines()
    records = [(row["reqUser"], row["result"], row.get("policy", -1)) for row in map(json.loads, lines)]
    policy = estate.admin.policy_by_name(estate.service, "p")
    assert policy is not None
    assert records == [(alice, 1, policy.id), *[(eve, 0, -1)] * (filters is None)]
    _, downloaded = examine_account(accounts(estate.settings)[0], estate.settings)
    audit = next(one for one in examine_service(estate.settings, downloaded) if one.check == "audit of denials")
    assert audit.health is Health.WELL
    assert estate.run("setup", "--dry-run") == 0
