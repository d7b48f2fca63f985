"""The table of creations agrees with the service definition, the profiles and CDAP's names."""

from __future__ import annotations

import re

import pytest

from ranger_cdap.cdap.creations import AccessLogRow, RequestRow, load_creations
from ranger_cdap.cdap.profile import load_profile
from spark_sync.ledger.event import ChangeKind
from spark_sync.reconcile.inventory import listings

TABLE = load_creations()


@pytest.mark.parametrize(
    "row", TABLE.data_plane, ids=lambda row: f"{row.request.method} {row.request.uri} {row.entity.name}"
)
def test_a_request_row_names_every_part_of_its_entity_or_ends_all_of_that_type(row: RequestRow) -> None:
    unnamed = {*row.entity.path[1:]} - {*row.checked.path[1:]} - {*row.request.variables}
    assert not unnamed or (row.kind is ChangeKind.DELETE and row.several and row.entity.path[-1:] == (*unnamed,))
    assert row.request.codes == (200,)


@pytest.mark.parametrize(
    "row", TABLE.http_access, ids=lambda row: f"{row.request.method} {row.request.uri} {row.entity.name}"
)
def test_a_row_of_the_access_log_can_name_every_part_of_its_entity(row: AccessLogRow) -> None:
    named = {*row.request.variables, *([row.entity.path[-1]] if row.response else [])}
    assert set(row.entity.path[1:]) <= named


def test_the_access_log_ends_nothing_that_only_a_check_names() -> None:
    ended = {row.request.uri for row in TABLE.http_access if row.kind is ChangeKind.DELETE}
    assert not {uri for uri in ended if uri.endswith(("/apps", "/data/datasets", "/data/modules"))}


def test_cdaps_own_messages_create_and_delete() -> None:
    assert {row.message for row in TABLE.audit} == {"CREATE", "DELETE"}


def test_what_can_be_created_can_be_deleted_too_an_artifact_only_version_by_version() -> None:
    kinds = {kind: {row.entity.name for row in TABLE.data_plane if row.kind is kind} for kind in ChangeKind}
    assert kinds[ChangeKind.CREATE] == kinds[ChangeKind.DELETE]
    whole = {row.entity.name for row in TABLE.data_plane if row.kind is ChangeKind.DELETE and not row.of_version}
    assert kinds[ChangeKind.DELETE] - whole == {"artifact"}


def test_a_row_about_one_version_names_it_in_its_uri() -> None:
    assert {row.entity.name for row in TABLE.data_plane if row.of_version} == {"artifact", "application"}
    assert all("version" in row.request.variables for row in TABLE.data_plane if row.of_version)
    assert all(row.kind is ChangeKind.DELETE for row in TABLE.data_plane if row.of_version)


@pytest.mark.parametrize(
    "row", TABLE.data_plane, ids=lambda row: f"{row.request.method} {row.request.uri} {row.entity.name}"
)
def test_the_check_of_every_row_is_journalled(row: RequestRow) -> None:
    for name in row.checked.cdap_names:
        journalled = TABLE.journal_row(name, [row.permission])
        assert journalled is not None
        assert journalled.checked == row.checked
        assert journalled.kind is row.kind or journalled.kind is ChangeKind.CREATE


def test_of_several_permissions_one_that_creates_comes_first() -> None:
    for permissions in (["STANDARD.DELETE", "STANDARD.CREATE"], ["STANDARD.CREATE", "STANDARD.DELETE"]):
        row = TABLE.journal_row("DATASET", permissions)
        assert row is not None
        assert row.kind is ChangeKind.CREATE
    assert TABLE.journal_row("DATASET", ["STANDARD.GET"]) is None
    assert TABLE.journal_row("DATASET", []) is None


def test_whatever_can_be_created_is_in_an_inventory_of_cdap() -> None:
    rows = (*TABLE.audit, *TABLE.data_plane, *TABLE.http_access)
    assert {row.entity.name for row in rows if row.kind is ChangeKind.CREATE} == {
        listing.entity for listing in listings()
    }


def test_every_type_in_the_table_has_a_row_of_resultant_privileges() -> None:
    profile = load_profile("default")
    for row in TABLE.data_plane:
        assert profile.resultant(row.entity.name) in ((), ("read", "write", "admin", "execute"))


@pytest.mark.parametrize(
    ("entity", "skipped"),
    [
        ("dataset:ns1.localkv.c6175695-e562-11f1-bfbf-02fc00000001", True),
        ("dataset:ns1.a.b.c6175695-e562-11f1-bfbf-02fc00000001", True),
        ("dataset:ns1.purchases", False),
        ("dataset:ns1.c6175695", False),
        ("application:ns1.da6edb9c-e562-11f1-a244-02fc00000001", True),
        ("schedule:ns1.da6edb9c-e562-11f1-a244-02fc00000001.daily", True),
        ("application:ns1.App", False),
        ("namespace:system", True),
        ("profile:system.native", True),
        ("namespace:systematic", False),
        ("dataset:ns1.system", False),
    ],
)
def test_skipped_entities(entity: str, skipped: bool) -> None:
    assert any(re.search(pattern, entity) for pattern in TABLE.skipped.values()) is skipped
