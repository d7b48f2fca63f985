"""Coverage of operations by CDAP's own checks, derived from the profiles, `checks.toml` and `cdap_coverage.toml`.

Law: an operation is *decided by CDAP's call* only if a check that CDAP makes resolves to exactly the privileges of its
row; if the check resolves to others, it is *approximated*, and without a check CDAP *never asks*.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Final, Literal

import msgspec

from ranger_cdap.cdap.checks.check_table import CheckCell, all_cells, known_permissions
from ranger_cdap.cdap.checks.checks import CdapCheck, CheckTable
from ranger_cdap.cdap.context import ROLES
from ranger_cdap.cdap.entity import entity_type, entity_types
from ranger_cdap.cdap.profile import SYNONYMS, Operation, Privilege, Profile, load_profile, profile_names
from ranger_cdap.cdap.requirements import resolved_target


class UndecidedReason(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Reason why CDAP's calls do not decide operations (`stream.*`), or the entities in a role (`*.deploy/artifact`).

    `coverage` corrects what follows from the tables, by a fact about CDAP that no table has.
    """

    operations: list[str]
    reason: str
    coverage: Literal["", "approximated", "never asked"] = ""


class Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Facts about CDAP 6.11 that `checks.toml` has no place for."""

    asked: list[str]
    filtered: list[str]
    roles: dict[str, dict[str, str]]
    reasons: list[UndecidedReason]


FACTS: Final = msgspec.convert(tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")), Facts)


class Coverage(StrEnum):
    """Answer to whether CDAP's own call decides a requirement."""

    DECIDED = "decided by CDAP's call"
    APPROXIMATED = "approximated"
    NEVER = "never asked"


class Covered(msgspec.Struct, frozen=True):
    """Coverage of an operation, or of the entities in one role of it (`application.deploy/artifact`), in a profile."""

    operation: str
    profile: str
    coverage: Coverage
    reason: str = ""


def undecided() -> Iterator[Covered]:
    """Yield the operations, and roles of others, that CDAP's calls do not decide, profile by profile."""
    for profile in map(load_profile, profile_names()):
        for row in operations_of(profile):
            yield from (one for one in _parts(profile.name, row) if one.coverage is not Coverage.DECIDED)


def operations_of(profile: Profile) -> Iterator[Operation]:
    """Yield the rows of a profile, and its core policies for every entity type that has no row for them."""
    yield from profile.rows.values()
    for kind, verb in ((kind, verb) for kind in entity_types() if entity_type(kind).parent for verb in profile.core):
        if (name := f"{kind}.{verb}") not in profile.rows and name not in SYNONYMS:
            yield profile.operation(name)


@cache
def coverage(profile: str, operation: str, in_role: Privilege | None = None) -> Covered:
    """Return the coverage of an operation, or of a privilege on the entities in a role of it, with the reason.

    Raises:
        UnknownOperation: the profile has no such operation.
    """
    name = f"{operation}/{in_role.target}" if in_role else operation
    reason = reason_for(name)
    found = Coverage((reason and reason.coverage) or derived_coverage(profile, operation, in_role))
    return Covered(name, profile, found, reason.reason if reason and found is not Coverage.DECIDED else "")


def reason_for(name: str) -> UndecidedReason | None:
    """Return the first reason of `cdap_coverage.toml` for an operation, or for a role of one."""
    return next((one for one in FACTS.reasons if any(fnmatchcase(name, p) for p in one.operations)), None)


@cache
def derived_coverage(profile: str, operation: str, in_role: Privilege | None = None) -> Coverage:
    """Return the coverage that follows from the tables alone.

    Raises:
        UnknownOperation: the profile has no such operation.
    """
    table = _table(profile)
    kind, _, verb = operation.partition(".")
    whole = max((_by_cell(table, kind, verb, *cell) for cell in _asked(kind)), key=_rank, default=Coverage.NEVER)
    if verb == "list" and kind in FACTS.filtered:
        exact = _needs(table.list_row(kind)) == _needs(load_profile(profile).operation(operation))
        whole = Coverage.DECIDED if exact else Coverage.APPROXIMATED
    return whole if in_role is None or whole is Coverage.NEVER else _in_role(profile, in_role)


def _rank(coverage: Coverage) -> int:
    return (Coverage.NEVER, Coverage.APPROXIMATED, Coverage.DECIDED).index(coverage)


def _parts(profile: str, row: Operation) -> Iterator[Covered]:
    """Yield the coverage of a row, and of its privileges in roles unless CDAP never asks for the row at all."""
    yield (whole := coverage(profile, row.name))
    if whole.coverage is not Coverage.NEVER:
        yield from (coverage(profile, row.name, one) for one in _privileges(row) if one.target in ROLES)


def _privileges(row: Operation) -> Iterable[Privilege]:
    return (privilege for alternative in row.alternatives for privilege in alternative)


@cache
def _table(profile: str) -> CheckTable:
    return CheckTable(load_profile(profile))


def _asked(kind: str) -> Iterator[tuple[str, bool, CheckCell]]:
    """Yield the cells of an entity type that CDAP 6.11 asks for: its own, and those of every type where it does."""
    cells, asked = all_cells(), FACTS.asked
    own = {(permission, on_parent) for section, permission, on_parent in cells if section == kind}
    for (section, permission, on_parent), cell in cells.items():
        name = f"{kind}.{permission}{' on the parent' if on_parent else ''}"
        common = section == "every" and (permission, on_parent) not in own
        if section == kind or (common and name in asked):
            yield permission, on_parent, cell


def _by_cell(table: CheckTable, kind: str, verb: str, permission: str, on_parent: bool, cell: CheckCell) -> Coverage:
    """Return what the checks of a cell decide of an operation: all of them exactly its row, or another one."""
    if verb not in cell.rows or (cell.has_hints and not cell.rows[verb] and verb not in cell.container):
        return Coverage.NEVER
    wanted = {_needs(table.row(kind, permission, verb))}
    resolved = (table.resolve(check) for check in _checks(kind, permission, on_parent, cell.rows[verb]))
    exact = all({_needs(each.operation) for each in one.operations} == wanted for one in resolved)
    return Coverage.DECIDED if exact else Coverage.APPROXIMATED


def _needs(row: Operation) -> frozenset[frozenset[tuple[tuple[str, ...], str]]]:
    """Return the alternatives of a row as actions on entity types."""
    return frozenset(frozenset((p.actions, resolved_target(p.target, row)) for p in one) for one in row.alternatives)


def _checks(kind: str, permission: str, on_parent: bool, methods: tuple[str, ...]) -> Iterator[CdapCheck]:
    """Yield the check of a cell, once for each method of CDAP that makes it."""
    full = next(name for name in known_permissions() if name.partition(".")[2] == permission)
    path = entity_type(kind).path[:-1] if on_parent else entity_type(kind).path
    cdap_name, *_ = entity_type(path[-1]).cdap_names
    parts = tuple("workflow.W" if level == "program" else "n" for level in path[1:]) or ("",)
    child = entity_type(kind).cdap_names[0] if on_parent else None
    for method in methods or (None,):
        hint = None if method is None else method if "." in method else f"{method}.any"
        yield CdapCheck(cdap_name, parts, (full,), child, hint, from_container=method is None)


def _in_role(profile: str, privilege: Privilege) -> Coverage:
    """Return the coverage of a privilege on an entity in a role, which CDAP checks by an operation on that entity."""
    instead = FACTS.roles[privilege.target]
    operation = instead.get("*") or instead["|".join(privilege.actions)]
    # What is only visible is decided by the row of the list, whether CDAP filters lists of that type or not.
    asked = Coverage.DECIDED if operation.endswith(".list") else derived_coverage(profile, operation)
    alternatives = load_profile(profile).operation(operation).alternatives
    alone = all(len(one) == 1 and one[0].target == "entity" for one in alternatives)
    actions = {action for one in alternatives for need in one for action in need.actions}
    if asked is Coverage.DECIDED and not (alone and actions == set(privilege.actions)):
        return Coverage.APPROXIMATED
    return asked
