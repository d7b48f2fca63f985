"""The checks that a real CDAP made on the path of each operation; the data is `recorded_paths.toml`.

`unrecorded_checks.toml` has more that its sources make where a recording had nothing to check.

An entity is named by its part in the operation: `entity`, an ancestor's type, a role of the context, or, where CDAP
names a fixed one, alone (`namespace:system`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec.toml

from ranger_cdap.cdap.profile import SYNONYMS

By = Literal["requesting", "impersonated", "executing"]
"""Who is checked; `executing` is the impersonated user, or else the CDAP master user."""


class RecordedCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Check that CDAP made: permissions on an entity (of a child that it does not name), or whether a list shows it."""

    by: By
    on: str
    permissions: tuple[str, ...] = ()
    child: str | None = None
    hint: str = ""
    visible: bool = False

    def __str__(self) -> str:
        if self.visible:
            return "visible in a list"
        asked = " and ".join(permission.partition(".")[2] for permission in self.permissions) or "any permission"
        return f"{asked} of {self.child}" if self.child else asked


class RecordedPath(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Recorded operation of CDAP and its checks; it is what happens if the roles `given` are named, and impersonated.

    `impersonated` is unset where impersonation makes no difference to who is checked.
    """

    operation: str
    recorded: str
    checks: tuple[RecordedCheck, ...]
    given: tuple[str, ...] = ()
    impersonated: bool | None = None

    def fits(self, named: Collection[str], *, impersonated: bool) -> bool:
        """Return true if CDAP goes this way when these roles are named."""
        return set(self.given) <= set(named) and self.impersonated in (None, impersonated)


def recorded_paths(operation: str) -> tuple[RecordedPath, ...]:
    """Return the recorded paths of an operation, by its name or a synonym; empty if it was never recorded."""
    return _read("recorded_paths.toml").get(SYNONYMS.get(operation, operation), ())


def unrecorded_checks(operation: str) -> tuple[RecordedPath, ...]:
    """Return the checks that the recorded path of an operation lacks, as a path, by its name or a synonym."""
    return _read("unrecorded_checks.toml").get(SYNONYMS.get(operation, operation), ())


class _PathsFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: tuple[RecordedPath, ...]


@cache
def _read(name: str) -> Mapping[str, tuple[RecordedPath, ...]]:
    paths = msgspec.toml.decode(files(__package__).joinpath(name).read_bytes(), type=_PathsFile).path
    return {
        name: tuple(path for path in paths if path.operation == name)
        for name in dict.fromkeys(path.operation for path in paths)
    }
