"""CDAP's permissions as Ranger's access types, and back."""

from __future__ import annotations

import pytest

from ranger_cdap.cdap.checks.check_table import known_permissions
from ranger_cdap.cdap.checks.legacy_privileges import accesses_of, permissions_of
from ranger_cdap.errors import InvalidInput

GET, UPDATE, EXECUTE = "STANDARD.GET", "STANDARD.UPDATE", "APPLICATION.EXECUTE"
MAPPING = [
    # entity type, permission, access type
    ("dataset", GET, "read"),
    ("namespace", GET, "read"),
    ("dataset", UPDATE, "write"),
    ("namespace", UPDATE, "admin"),
    ("secure_key", UPDATE, "admin"),
    ("program", EXECUTE, "execute"),
    ("application", EXECUTE, "execute"),
    ("namespace", "STANDARD.CREATE", "admin"),
    ("dataset", "STANDARD.DELETE", "admin"),
    ("namespace", "STANDARD.LIST", "read"),
    ("artifact", "STANDARD.USE", "read"),
    ("principal", "ACCESS.IMPERSONATE", "admin"),
]


@pytest.mark.parametrize(("kind", "permission", "access"), MAPPING)
def test_permissions_are_granted_as_cdap_itself_maps_them(kind: str, permission: str, access: str) -> None:
    assert accesses_of(kind, [permission]) == (access,)


def test_every_permission_of_cdap_is_granted_as_something_and_nothing_else_is() -> None:
    assert all(len(accesses_of("dataset", [permission])) == 1 for permission in known_permissions())
    assert accesses_of("dataset", [EXECUTE, UPDATE, GET, GET]) == ("read", "write", "execute")
    for nothing in ([], ["STANDARD.FLY"], ["get"], ["*"]):
        with pytest.raises(InvalidInput):
            accesses_of("dataset", nothing)


def test_what_cdap_shows_is_cdaps_own_mapping_back() -> None:
    assert permissions_of(["read", "write", "admin", "execute"]) == (GET, UPDATE, EXECUTE)
