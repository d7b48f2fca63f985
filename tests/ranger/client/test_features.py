"""What an older Ranger lacks is told by what it answers, said once, and never lost silently (simulated, not run)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import servicedef
from ranger_cdap.config import PluginSettings, RangerSettings, Secret, Settings, SyncSettings
from ranger_cdap.doctor.accounts import accounts, examine_account
from ranger_cdap.doctor.finding import Health
from ranger_cdap.errors import RangerTooOld
from ranger_cdap.ranger.client.features import MARKERS, RESOURCES, SCRIPTS, Feature, missing_features
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.setup import service_setup
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.policy import Policy, PolicyItem, PolicyItemAccess, PolicyResource
from ranger_cdap.testing.admin import EmbeddedAdmin
from tests.docs.markdown_pages import ROOT, text_of
from tests.ranger.client.older_ranger import Release, older_ranger

FEATURES = (RESOURCES, SCRIPTS, MARKERS)

PASSWORD = Secret("Older-Ranger-1")
SERVICE = "cdapdev"
FEATURES = (RESOURCES, SCRIPTS, MARKERS)
RELEASES: dict[Release, tuple[Feature, ...]] = {
    (2, 1): (RESOURCES, SCRIPTS, MARKERS),
    (2, 3): (RESOURCES, SCRIPTS, MARKERS),
    (2, 4): (MARKERS,),
    (2, 5): (),
    (2, 6): (),
    (2, 8): (),
    (2, 9): (),
}
each_release = pytest.mark.parametrize("release", RELEASES, ids=lambda release: ".".join(map(str, release)))


@contextmanager
def ranger_of(release: Release) -> Iterator[tuple[RangerSettings, RangerAdmin]]:
    with EmbeddedAdmin(admin_password=PASSWORD.reveal()) as server, older_ranger(server.url, release) as url:
        settings = RangerSettings(url=url)
        with RangerAdmin.connect(Settings(ranger=settings), "admin", PASSWORD) as admin:
            yield settings, admin


def set_up(admin: RangerAdmin) -> None:
    service_setup.set_up(admin, DesiredState(SERVICE, "cdap"))


def policy(*namespaces: str) -> Policy:
    sets = [{"instance": PolicyResource(["cdap"]), "namespace": PolicyResource([name])} for name in namespaces]
    items = [PolicyItem(users=["admin"], accesses=[PolicyItemAccess("read")])]
    return Policy(service=SERVICE, name="p", resources=sets[0], additional_resources=sets[1:], deny_policy_items=items)


@each_release
def test_what_a_release_lacks_is_told_by_its_definition(release: Release) -> None:
    with ranger_of(release) as (_, admin):
        assert missing_features(admin.create_service_def(servicedef.service_definition())) == RELEASES[release]
        assert missing_features(admin.get_service_def("cdap") or {}) == RELEASES[release]


def create(admin: RangerAdmin, wanted: Policy, _: int) -> object:
    return admin.create_policy(msgspec.structs.replace(wanted, name="q"))


def create_document(admin: RangerAdmin, wanted: Policy, _: int) -> object:
    return admin.create_policy_document(msgspec.to_builtins(wanted) | {"name": "q"})


def update(admin: RangerAdmin, wanted: Policy, id_: int) -> object:
    return admin.update_policy(msgspec.structs.replace(wanted, id=id_))


def update_document(admin: RangerAdmin, wanted: Policy, id_: int) -> object:
    return admin.update_policy_document(id_, msgspec.to_builtins(wanted))


@each_release
def test_a_policy_that_lost_resources_is_never_taken_for_written(release: Release) -> None:
    """Law: a policy is about all that was sent, or the writer is told."""
    with ranger_of(release) as (_, admin):
        set_up(admin)
        for n, write in enumerate((create, create_document, update, update_document)):
            for one in admin.list_policies(SERVICE):
                admin.delete_policy(one.id or 0)
            first = admin.create_policy(policy(f"first{n}"))
            wanted = policy(f"ns{n}", "ns8", "ns9")
            if RESOURCES not in RELEASES[release]:
                write(admin, wanted, first.id or 0)
                assert wanted.additional_resources in [one.additional_resources for one in admin.list_policies(SERVICE)]
                continue
            with pytest.raises(RangerTooOld, match="dropped `additionalResources` of the policy"):
                write(admin, wanted, first.id or 0)


@each_release
def test_the_doctor_says_it_once(release: Release) -> None:
    with ranger_of(release) as (ranger, admin):
        set_up(admin)
        settings = Settings(ranger=ranger, plugin=PluginSettings(username="admin", password=PASSWORD))
        (account,) = accounts(settings)
        found = [one.seen for one in examine_account(account, settings, None)[0]]
        assert [found.count(str(feature)) for feature in FEATURES] == [
            feature in RELEASES[release] for feature in FEATURES
        ]
        assert admin.get_service(SERVICE) is not None


@each_release
def test_doctor_fails_on_a_ranger_that_cannot_keep_grants_of_creators(release: Release) -> None:
    with ranger_of(release) as (ranger, admin):
        set_up(admin)
        account: Any = {"username": "admin", "password": PASSWORD}
        settings = Settings(ranger=ranger, plugin=PluginSettings(**account), sync=SyncSettings(**account))
        found = examine_account(accounts(settings)[0], settings, None)[0]
        failing = [one.seen for one in found if one.health is Health.FAILED]
        assert (str(RESOURCES) in failing) == (RESOURCES in RELEASES[release])
        assert not {str(SCRIPTS), str(MARKERS)} & set(failing)


@given(st.booleans(), st.booleans())
def test_only_a_ranger_without_both_is_taken_for_one_that_drops_resources(markers: bool, scripts: bool) -> None:
    definition = {
        "markerAccessTypes": [{"name": "_ALL"}] if markers else [],
        "policyConditions": [{"name": "ip"}, *([{"name": "_expression"}] if scripts else [])],
    }
    found = missing_features(definition)
    assert (MARKERS in found, SCRIPTS in found) == (not markers, not scripts)
    assert (RESOURCES in found) is (not markers and not scripts)


def test_the_page_has_every_feature_by_its_release() -> None:
    section = (
        text_of(ROOT / "docs" / "reference" / "compatibility.md").split("## Releases of Ranger")[1].split("\n## ")[0]
    )
    for feature in FEATURES:
        assert feature.name in section, feature
        row = next(line for line in section.splitlines() if feature.name in line)
        last = row.split("|")[1].split("to")[-1].strip()
        assert tuple(map(int, last.split("."))) < tuple(map(int, feature.since.split(".")))
