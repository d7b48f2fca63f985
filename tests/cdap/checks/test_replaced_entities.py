"""A check for creating what CDAP may be about to replace: an existing entity needs the operation that updates it."""

from __future__ import annotations

import pytest

from ranger_cdap.cdap.checks.checks import CdapCheck, CheckTable
from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.cdap.existence import Existence
from ranger_cdap.cdap.profile import load_profile, profile_names

APP, KEY = ("APPLICATION", ("ns1", "shop", "-SNAPSHOT")), ("SECUREKEY", ("ns1", "key"))
CREATE, UPDATE, PREVIEW = "STANDARD.CREATE", "STANDARD.UPDATE", "APPLICATION.PREVIEW"
DEPLOYS, STORES = "LocalArtifactLoaderStage.process AbstractStage.process", "DefaultSecureStoreService.put"
A_PREVIEW = ("APPLICATION", ("ns1", "d812fc2c-e560-11f1-ab25-02fc00000001", "-SNAPSHOT"))

ROWS = {
    "a new application is deployed": (APP, CREATE, DEPLOYS, "absent", {"application.deploy"}),
    "an existing application is updated": (APP, CREATE, DEPLOYS, "there", {"application.update"}),
    "both where it is unknown": (APP, CREATE, DEPLOYS, "unknown", {"application.deploy", "application.update"}),
    "also without a hint": (APP, CREATE, None, "there", {"application.update"}),
    "a new secure key is created": (KEY, UPDATE, STORES, "absent", {"secure_key.create"}),
    "an existing secure key is updated": (KEY, UPDATE, STORES, "there", {"secure_key.update"}),
    "both where the key is unknown": (KEY, UPDATE, STORES, "unknown", {"secure_key.create", "secure_key.update"}),
    "what sets no key is as it was": (APP, UPDATE, "ApplicationLifecycleService.x", "there", {"application.update"}),
    "a preview is of no application": (APP, PREVIEW, None, "there", {"application.deploy", "application.run_preview"}),
    "the application of a preview": (A_PREVIEW, CREATE, DEPLOYS, "unknown", {"application.deploy"}),
    "a dataset is never replaced": (("DATASET", ("ns1", "kv")), CREATE, None, "there", {"dataset.create"}),
    "in the namespace system": (("APPLICATION", ("system", "x")), CREATE, DEPLOYS, "there", {"application.update"}),
}


@pytest.mark.parametrize("profile", profile_names())
@pytest.mark.parametrize("row", ROWS)
def test_a_check_stands_for_the_operation_that_fits_what_exists(row: str, profile: str) -> None:
    (kind, parts), permission, hint, known, expected = ROWS[row]
    asked = CdapCheck(kind, parts, (permission,), hint=hint)
    found = CheckTable(load_profile(profile)).resolve(asked, lambda _: Existence(known))
    assert {one.operation.name for one in found.operations} == expected


@pytest.mark.parametrize(("kind", "parts"), [APP, KEY])
def test_what_is_asked_about_has_no_version(kind: str, parts: tuple[str, ...]) -> None:
    asked: list[EntityId] = []

    def existence(entity: EntityId) -> Existence:
        asked.append(entity)
        return Existence.THERE

    CheckTable(load_profile("default")).resolve(CdapCheck(kind, parts, (CREATE, UPDATE)), existence)
    assert {entity.parts for entity in asked} == {parts[:2]}
