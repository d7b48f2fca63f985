"""The table `checks.toml`: operations that a permission on an entity type can stand for, and the calling methods."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import cache
from importlib.resources import files

import msgspec.toml

from ranger_cdap.cdap.profile import Operation, uncovered_rows


class CheckCell(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Operations that one permission on one entity type can stand for; the head of `checks.toml` has the fields."""

    strictest: tuple[str, ...] = ()
    rows: Mapping[str, tuple[str, ...]] = {}
    steps: Mapping[str, tuple[str, ...]] = {}
    container: tuple[str, ...] = ()
    visibility_only: bool = False
    filtered: bool = False

    @property
    def has_hints(self) -> bool:
        """Return true if a hint can select a row."""
        return any(self.rows.values())

    def select_by_hint(self, frames: tuple[str, ...]) -> str | None:
        """Return the row selected by the calling methods: a step of a larger operation, else the nearest."""
        found = (
            verb
            for table in (self.steps, self.rows)
            for frame in frames
            for verb, methods in table.items()
            if frame in methods or _class_of(frame) in methods
        )
        return next(found, None)


class Replacement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Operations that a check maps to: `created` for a new entity, `existing` for one that CDAP then replaces."""

    created: str
    existing: str


class _ChecksFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    plumbing: tuple[str, ...]
    actions: frozenset[str]
    permissions: Mapping[str, tuple[str, ...]]
    incidental: Mapping[str, Mapping[str, tuple[str, ...]]]
    before_creation: Mapping[str, Mapping[str, tuple[str, ...]]]
    replaces: Mapping[str, Mapping[str, Replacement]]
    entity: Mapping[str, Mapping[str, CheckCell | str]]
    child: Mapping[str, Mapping[str, CheckCell | str]]
    operations: Mapping[str, Mapping[str, tuple[str, ...]]]


def cell_of(kind: str, permission: str, *, on_parent: bool) -> CheckCell | None:
    """Return the cell of an entity type (the child's, for a check on its parent); `None` if the table has none."""
    section = _table().child if on_parent else _table().entity
    cell = section.get(kind, {}).get(permission) or section["every"].get(permission)
    return CheckCell(strictest=(cell,), rows={cell: ()}) if isinstance(cell, str) else cell


def incidental_methods(kind: str, permission: str) -> tuple[str, ...]:
    """Return the calling methods that make the check as a part of an operation on another entity; none for most."""
    return _table().incidental.get(kind, {}).get(permission, ())


def methods_before_creation(kind: str, permission: str) -> tuple[str, ...]:
    """Return the calling methods that make the check on an entity that they then may create; none for most."""
    return _table().before_creation.get(kind, {}).get(permission, ())


def replacement(kind: str, permission: str) -> Replacement | None:
    """Return what the check is for an entity that exists, if CDAP replaces it; `None` for all other checks."""
    return _table().replaces.get(kind, {}).get(permission)


def replaced_types() -> Set[str]:
    """Return the types of entities that CDAP replaces under the check for creating them."""
    return _table().replaces.keys()


def all_cells() -> Mapping[tuple[str, str, bool], CheckCell]:
    """Return every cell by entity type (`every` for the common ones), permission and "the check is on the parent"."""
    keys = [
        (kind, permission, on_parent)
        for section, on_parent in ((_table().entity, False), (_table().child, True))
        for kind, cells in section.items()
        for permission in cells
    ]
    cells = {key: cell_of(key[0], key[1], on_parent=key[2]) for key in keys}
    return {key: cell for key, cell in cells.items() if cell is not None}


def verbs_of(kind: str) -> frozenset[str]:
    """Return the operations that checks of entities of a type, of lists of them, and of what is in them resolve to."""
    operations = _table().operations
    cells = (cell for (section, _, _), cell in all_cells().items() if section in (kind, "every"))
    verbs = {verb for cell in cells for verb in (*cell.rows, *cell.steps, *cell.container)}
    any_type = (f"{of}_{verb}" for of in ("inner", "action") for verb in operations[of])
    return frozenset({*verbs, *operations["entity"], *operations.get(kind, ()), *any_type})


@cache
def known_permissions() -> frozenset[str]:
    """Return the permissions of CDAP 6.11, as `STANDARD.GET`."""
    return frozenset(f"{kind}.{name}" for kind, names in _table().permissions.items() for name in names)


def actions() -> frozenset[str]:
    """Return what CDAP before 6.5 asks for instead of permissions, as `ACTION.READ`."""
    return _table().actions


def own_row(kind: str, verb: str) -> Operation | None:
    """Return the row of `checks.toml` for an operation that no requirement document covers; `None` if there is none."""
    return uncovered_rows().get(f"{kind}.{verb}")


def calling_methods(hint: str | None, most: int = 32) -> tuple[str, ...]:
    """Return the methods of a hint, as `Class.method`, without plumbing; at most `most`, since the caller is near."""
    frames = [".".join(frame.rsplit(".", 2)[-2:]) for frame in (hint or "").split()[:most]]
    return tuple(frame for frame in frames if _class_of(frame) not in _table().plumbing)


def _class_of(frame: str) -> str:
    """Return the class of a method; for `Handler$2.onFinish`, the enclosing class."""
    return frame.partition(".")[0].partition("$")[0]


@cache
def _table() -> _ChecksFile:
    return msgspec.toml.decode(files(__package__).joinpath("checks.toml").read_bytes(), type=_ChecksFile)
