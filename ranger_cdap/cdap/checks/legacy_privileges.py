"""Mapping between CDAP's permissions and its four legacy actions. Pure.

It is that of `AuthorizerWrapper` and `Action` in CDAP 6.5 and later, with one law of ours: a grant never allows more
than was requested, so that read access is never granted as ADMIN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ranger_cdap.cdap.checks.check_table import known_permissions
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.errors import InvalidInput

_EVERY: Final = ""

ACCESSES: Final[Mapping[str, Mapping[str, str]]] = {
    "STANDARD.GET": {_EVERY: "read"},
    "STANDARD.LIST": {_EVERY: "read"},
    "STANDARD.USE": {_EVERY: "read"},
    "STANDARD.UPDATE": {"dataset": "write", _EVERY: "admin"},
    "APPLICATION.EXECUTE": {_EVERY: "execute"},
    "INSTANCE.HEALTH_CHECK": {_EVERY: "read"},
    "NAMESPACE.READ_REPOSITORY": {_EVERY: "read"},
    "NAMESPACE.WRITE_REPOSITORY": {_EVERY: "write"},
}
"""Access types granted for permissions, by entity type; every other permission is granted as `admin`."""

PERMISSIONS: Final[Mapping[str, str]] = {
    "read": "STANDARD.GET",
    "write": "STANDARD.UPDATE",
    "admin": "STANDARD.UPDATE",
    "execute": "APPLICATION.EXECUTE",
}
"""CDAP's permission for each access type."""


def accesses_of(kind: str, permissions: Iterable[str]) -> tuple[str, ...]:
    """Return the access types granted for permissions on an entity of that type, in the order of `ACCESS_TYPES`.

    Raises:
        InvalidInput: one of them is not a permission of CDAP, or there is none.
    """
    found = set()
    for permission in permissions:
        if permission not in known_permissions():
            raise InvalidInput(f"`{permission[:80]}` is not a permission of CDAP; write it like `STANDARD.GET`")
        row = ACCESSES.get(permission, {_EVERY: "admin"})
        found.add(row.get(kind) or row[_EVERY])
    if not found:
        raise InvalidInput("no permission is named")
    return tuple(access for access in ACCESS_TYPES if access in found)


def permissions_of(accesses: Iterable[str]) -> tuple[str, ...]:
    """Return CDAP's permissions for access types, without repetition."""
    return tuple(dict.fromkeys(PERMISSIONS[access] for access in accesses if access in PERMISSIONS))
