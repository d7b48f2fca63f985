"""Job roles as data: the operations of a job in a namespace, and the privileges for it by profile. `presets.toml`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec.toml

from ranger_cdap.cdap.entity import entity_type
from ranger_cdap.cdap.grant import ACCESS_TYPES
from ranger_cdap.errors import ConfigError, InvalidInput, suggestion

SYSTEM_NAMESPACE: Final = "system"
"""The namespace of CDAP's own artifacts and applications."""

CONNECTION: Final = "connection"
"""Kind of what Studio and Wrangler do with connections, `connection.use`; no entity type of the profiles."""


@dataclass(frozen=True, slots=True, order=True)
class PresetRight:
    """Accesses on every entity of a type in the role's namespace, or in `system`; on one if it is named."""

    is_system: bool
    type: str
    name: str
    accesses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preset:
    """A job in one profile: its operations, those on the namespace `system`, and what its rights allow besides.

    `also` has an operation and the reason why the job's privileges allow it.
    """

    name: str
    description: str
    operations: tuple[str, ...]
    system_operations: tuple[str, ...]
    rights: tuple[PresetRight, ...]
    also: Mapping[str, str]
    system_also: Mapping[str, str]
    ldap: tuple[str, ...]


def preset_names() -> tuple[str, ...]:
    """Return the names of all presets, from the one that may least."""
    return tuple(_table().preset)


def preset_profiles() -> tuple[str, ...]:
    """Return the profiles for which the presets are made."""
    return _table().profiles


def ldap_without_preset() -> Mapping[str, str]:
    """Return the roles of the predecessor's LDAP binding without a preset, with what to do instead."""
    return _table().not_ldap


def load_preset(name: str, profile: str) -> Preset:
    """Return the preset of that name in a profile.

    Raises:
        InvalidInput: there is none, or the presets are not made for that profile.
    """
    table = _table()
    if name not in table.preset:
        raise InvalidInput(f"there is no preset `{name}`{suggestion(name, table.preset, list_all=True)}")
    if profile not in table.profiles:
        raise InvalidInput(
            f"the presets are for the profiles {', '.join(table.profiles)}, and `cdap.profile` is `{profile}`; write "
            "policies with `ranger-cdap needs` for it"
        )
    rows = [table.preset[one] for one in _lineage(table, name)]
    operations = _union(row.operations for row in rows) + _connections(row.connections for row in rows)
    system = _union(row.system for row in rows)
    in_profile = [row.also_in.get(profile, _AlsoInProfile()) for row in rows]
    also = _union((*(row.also for row in rows), *(one.operations for one in in_profile)))
    also += _connections((*(row.also_connections for row in rows), *(one.connections for one in in_profile)))
    own = table.preset[name]
    return Preset(
        name=name,
        description=own.description,
        operations=operations,
        system_operations=system,
        rights=(
            *_rights(False, [{**row.rights, **row.rights_in.get(profile, {})} for row in rows]),
            *_rights(True, [row.system_rights for row in rows]),
        ),
        also={one: table.reasons[one] for one in also if one not in operations},
        system_also={one: table.reasons[one] for one in _union(row.also_system for row in rows) if one not in system},
        ldap=own.ldap,
    )


class _AlsoInProfile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    operations: tuple[str, ...] = ()
    connections: tuple[str, ...] = ()


class _PresetRow(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    description: str
    rights: dict[str, tuple[str, ...]]
    includes: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    connections: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    rights_in: dict[str, dict[str, tuple[str, ...]]] = {}
    system_rights: dict[str, tuple[str, ...]] = {}
    also: tuple[str, ...] = ()
    also_connections: tuple[str, ...] = ()
    also_in: dict[str, _AlsoInProfile] = {}
    also_system: tuple[str, ...] = ()
    ldap: tuple[str, ...] = ()


class _PresetFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    profiles: tuple[str, ...]
    preset: dict[str, _PresetRow]
    reasons: dict[str, str]
    not_ldap: dict[str, str]


@cache
def _table() -> _PresetFile:
    return msgspec.toml.decode(files(__package__).joinpath("presets.toml").read_bytes(), type=_PresetFile)


def _lineage(table: _PresetFile, name: str) -> tuple[str, ...]:
    """Return the presets that one includes, and itself."""
    included = (one for other in table.preset[name].includes for one in _lineage(table, other))
    return tuple(dict.fromkeys((*included, name)))


def _union(several: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one for some in several for one in some))


def _connections(several: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(f"{CONNECTION}.{verb}" for verb in _union(several))


def _rights(is_system: bool, rows: Collection[Mapping[str, tuple[str, ...]]]) -> tuple[PresetRight, ...]:
    total: dict[str, set[str]] = {}
    for row in rows:
        for target, accesses in row.items():
            total.setdefault(target, set()).update(accesses)
    return tuple(_right(is_system, target, accesses) for target, accesses in total.items())


def _right(is_system: bool, target: str, accesses: Collection[str]) -> PresetRight:
    kind, _, name = target.partition(":")
    if "namespace" not in entity_type(kind).path or not set(accesses) <= set(ACCESS_TYPES):
        raise ConfigError(f"`{target}` with {', '.join(sorted(accesses))} is no right of a preset")
    return PresetRight(is_system, kind, name, tuple(sorted(accesses, key=ACCESS_TYPES.index)))
