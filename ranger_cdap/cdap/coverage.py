"""Coverage of the requirements by CDAP's own checks, derived from the profiles, `checks.toml`, `acceptance.toml`. Pure.

Law: a requirement is *decided by CDAP's call* only if a check that CDAP makes resolves to exactly the privileges of its
row; if the check resolves to others, it is *approximated*, and without a check CDAP *never asks*.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import cache

import msgspec

from ranger_cdap.cdap.acceptance import UndecidedReason, load_acceptance
from ranger_cdap.cdap.checks.check_table import CheckCell, all_cells, known_permissions
from ranger_cdap.cdap.checks.checks import CdapCheck, CheckTable
from ranger_cdap.cdap.context import ROLES
from ranger_cdap.cdap.entity import entity_type, entity_types
from ranger_cdap.cdap.profile import SYNONYMS, Operation, Privilege, Profile, load_profile, profile_names
from ranger_cdap.cdap.requirements import load_requirements, requirements_of, resolved_target

# The capacities in which the person of a privilege may need it.
_CAPACITIES = {
    "requesting": ("requesting",),
    "effective": ("requesting", "impersonated"),
    "executing": ("master", "impersonated"),
    "master": ("master",),
}


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


@cache
def coverage_by_requirement() -> dict[str, tuple[Covered, ...]]:
    """Return the coverage of every requirement that CDAP's checks can concern, by id."""
    found: dict[str, dict[Covered, None]] = {}
    for profile in map(load_profile, profile_names()):
        for row in operations_of(profile):
            for requirement, in_role in _owners(row):
                found.setdefault(requirement, {})[coverage(profile.name, row.name, in_role)] = None
    for requirement, patterns in load_acceptance().about.items():
        found.setdefault(requirement, {}).update(dict.fromkeys(_about(patterns)))
    return {name: tuple(found[name]) for name in load_requirements().ids if name in found}


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
    """Return the first reason of `acceptance.toml` for an operation, or for a role of one."""
    return next((one for one in load_acceptance().reasons if any(fnmatchcase(name, p) for p in one.operations)), None)


@cache
def derived_coverage(profile: str, operation: str, in_role: Privilege | None = None) -> Coverage:
    """Return the coverage that follows from the tables alone.

    Raises:
        UnknownOperation: the profile has no such operation.
    """
    table = _table(profile)
    kind, _, verb = operation.partition(".")
    whole = max((_by_cell(table, kind, verb, *cell) for cell in _asked(kind)), key=_rank, default=Coverage.NEVER)
    if verb == "list" and kind in load_acceptance().filtered:
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


def _owners(row: Operation) -> Iterator[tuple[str, Privilege | None]]:
    """Yield the ids of a row, each with a privilege in a role that it is about, or `None` for the row's own entity."""
    for privilege in _privileges(row):
        for capacity in _CAPACITIES[privilege.person]:
            if capacity == "requesting" != privilege.person and "impersonated" in privilege.conditions:
                continue
            for requirement in requirements_of(row, privilege, capacity):
                yield requirement, privilege if privilege.target in ROLES else None


def _privileges(row: Operation) -> Iterable[Privilege]:
    return (privilege for alternative in row.alternatives for privilege in alternative)


def _about(patterns: Iterable[str]) -> Iterator[Covered]:
    for pattern in patterns:
        name, colon, operations = pattern.rpartition(":")
        profile = load_profile(name if colon else "default")
        for row in operations_of(profile):
            if fnmatchcase(row.name, operations):
                yield from _parts(profile.name, row)


@cache
def _table(profile: str) -> CheckTable:
    return CheckTable(load_profile(profile))


def _asked(kind: str) -> Iterator[tuple[str, bool, CheckCell]]:
    """Yield the cells of an entity type that CDAP 6.11 asks for: its own, and those of every type where it does."""
    cells, asked = all_cells(), load_acceptance().asked
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
    instead = load_acceptance().roles[privilege.target]
    operation = instead.get("*") or instead["|".join(privilege.actions)]
    # What is only visible is decided by the row of the list, whether CDAP filters lists of that type or not.
    asked = Coverage.DECIDED if operation.endswith(".list") else derived_coverage(profile, operation)
    alternatives = load_profile(profile).operation(operation).alternatives
    alone = all(len(one) == 1 and one[0].target == "entity" for one in alternatives)
    actions = {action for one in alternatives for need in one for action in need.actions}
    if asked is Coverage.DECIDED and not (alone and actions == set(privilege.actions)):
        return Coverage.APPROXIMATED
    return asked
