"""Policies of one set that differ from those of another, and the reasons to look at all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ranger_cdap.engine.view import EngineView, PolicyEntry
from ranger_cdap.ranger_model.json_text import decode_or_none
from ranger_cdap.tools.analysis.symbols.space import PolicySpace, Zone

_WITHOUT_EFFECT: Final = frozenset(
    {
        "id", "guid", "version", "createTime", "updateTime", "createdBy", "updatedBy", "description", "policyLabels",
        "isAuditEnabled", "service", "serviceType", "resourceSignature",
    }
)  # fmt: skip
"""Fields of a policy that no decision depends on, as long as ids are unique, which entries of the engine show."""


@dataclass(frozen=True, slots=True)
class SetComparison:
    """Policies of one set that the other lacks; `all_differ` if something differs that concerns all policies."""

    changed: Mapping[Zone, tuple[PolicyEntry, ...]]
    all_differ: bool


def differences(one: PolicySpace, other: PolicySpace) -> tuple[SetComparison, SetComparison]:
    """Return what one set has and the other lacks, and the other way round."""
    differs = all_differ(one.view, other.view)
    here: dict[Zone, tuple[PolicyEntry, ...]] = {}
    there: dict[Zone, tuple[PolicyEntry, ...]] = {}
    for zone in {**one.repositories, **other.repositories}:
        here[zone], there[zone] = _differing(_entries(one, zone), _entries(other, zone))
    return SetComparison(here, differs), SetComparison(there, differs)


def _entries(space: PolicySpace, zone: Zone) -> list[PolicyEntry]:
    return space.repositories[zone].all() if zone in space.repositories else []


def _differing(
    one: list[PolicyEntry], other: list[PolicyEntry]
) -> tuple[tuple[PolicyEntry, ...], tuple[PolicyEntry, ...]]:
    """Return the policies of each list that the other lacks; the content of equal texts is not compared."""
    left = [_unlike(one, other), _unlike(other, one)]
    contents = [{_content(entry) for entry in entries} for entries in left]
    return (
        tuple(entry for entry in left[0] if _content(entry) not in contents[1]),
        tuple(entry for entry in left[1] if _content(entry) not in contents[0]),
    )


def _unlike(entries: list[PolicyEntry], others: list[PolicyEntry]) -> list[PolicyEntry]:
    """Return the policies of which the others have none with the same id and text."""
    by_id = {entry.id: entry for entry in others}

    def is_there(entry: PolicyEntry) -> bool:
        other = by_id.get(entry.id)
        return other is not None and entry.is_substitute is other.is_substitute and entry.raw == other.raw

    return [entry for entry in entries if not is_there(entry)]


def _content(entry: PolicyEntry) -> bytes:
    document: Any = decode_or_none(entry.raw)
    if entry.is_substitute or not isinstance(document, dict):
        return bytes(entry.raw)
    kept = {key: value for key, value in document.items() if key not in _WITHOUT_EFFECT and value is not None}
    return msgspec.json.encode(kept, order="sorted")


def all_differ(one: EngineView, other: EngineView) -> bool:
    """Return True if the definition, zones, roles, tags or super users of two sets differ."""

    def shared(state: EngineView) -> tuple[object, ...]:
        repository, tags, zones = state.tag_repository, state.tag_table, state.zone_table
        return (
            state.model,
            state.options,
            state.privileged,
            zones.resources.items,
            zones.unreadable_everywhere,
            state.policies.zones_known,
            state.tag_zones,
            None if repository is None else [_content(entry) for entry in repository.entries],
            tags.resources.items if repository is not None else (),
            tags.everywhere,
            tags.enriched,
            state.tag_compiler.model if state.tag_compiler is not None else None,
        )

    return shared(one) != shared(other) or not one.roles.has_members_of(other.roles)
