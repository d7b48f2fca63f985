"""An export of Apache Sentry with roles of CDAP: what is in it, and what of it is left out. Pure.

Law: whatever is not understood is left out and named with its place; nothing is guessed, and no content raises anything
but `InvalidInput`. It is a policy file

    [groups]
    sales-devs = readers, writers
    [roles]
    readers = instance=cdap->namespace=sales->action=read, instance=cdap->namespace=sales->dataset=*->action=read

or the same as JSON: `{"groups": {"sales-devs": ["readers", "writers"]}, "roles": {"readers": ["instance=cdap->..."]}}`.

Sources, of Sentry: `SimpleFileProviderBackend` (sections, roles of groups), `PolicyFileConstants`, `PrivilegeUtils`,
`KeyValue`, `GenericPrivilegeConverter` (the form in which it writes privileges), `SentryPolicyFileFormatter` (the
mapping that it exports, which is the JSON here) and `SentryIniPolicyFileFormatter` (the one format it writes itself);
of Shiro: `Ini` (lines); of the CDAP binding: `Authorizable.AuthorizableType` (keys), `ActionFactory` (actions).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from ranger_cdap.errors import InvalidInput, reason
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger.files.strict_text import parse_text

LARGEST_SENTRY_FILE: Final = 4 << 20
"""In bytes."""
GROUPS: Final = "groups"
ROLES: Final = "roles"

_KEYS: Final = frozenset(
    {
        "instance",
        "namespace",
        "artifact",
        "application",
        "program",
        "dataset",
        "dataset_module",
        "dataset_type",
        "securekey",
        "principal",
    }
)
_EACH: Final = ("read", "write", "execute", "admin")
_ACTIONS: Final = {**{one: frozenset({one}) for one in _EACH}, "all": frozenset(_EACH), "*": frozenset(_EACH)}
_OF_HIVE: Final = frozenset({"server", "db", "table", "column", "uri"})
_OTHER_SECTIONS: Final = {
    "users": "it says which groups users have; Ranger knows them from user sync",
    "userroles": "CDAP's Sentry binding gives roles by groups only",
    "databases": "it names policy files of Hive databases",
}
_LINE_END: Final = re.compile("\r\n|[\n\r\u2028\u2029\u0085]")
_ENTRY: Final = re.compile(r"([^\s=:\\]+)\s*=\s*(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True, order=True)
class SentryPlace:
    """Where something is in the file: its line, or its path in JSON; in the order of the file."""

    order: int
    text: str


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A thing of the file that is left out, with its place and the reason."""

    place: SentryPlace
    what: str
    why: str

    def __str__(self) -> str:
        return f"{self.place.text}: {self.what}: {self.why}"


@dataclass(frozen=True, slots=True)
class SentryPrivilege:
    """A privilege: actions on what the parts name, from the instance down; names may have `*` and `?`."""

    parts: tuple[tuple[str, str], ...]
    actions: frozenset[str]
    text: str


@dataclass(frozen=True, slots=True)
class SentryRole:
    """A role with its groups and privileges, and the place that defines it."""

    name: str
    place: SentryPlace
    groups: tuple[str, ...]
    privileges: tuple[SentryPrivilege, ...]


@dataclass(frozen=True, slots=True)
class SentryFile:
    """Roles of a file, in its order, and what was left out, by place."""

    roles: tuple[SentryRole, ...]
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True)
class _SentryEntry:
    name: str
    place: SentryPlace
    values: tuple[str, ...]


_Sections = dict[str, dict[str, _SentryEntry]]
"""Entries by name, by section: `groups` and `roles`, as far as they are there."""


def parse_sentry_file(content: bytes) -> SentryFile:
    """Return the roles of a file, and what was left out of it.

    Raises:
        InvalidInput: it is too large, not UTF-8, no JSON although it begins with a brace, or has no section of groups
            or of roles: Sentry reads nothing of it.
    """
    if len(content) > LARGEST_SENTRY_FILE:
        raise InvalidInput(f"it is larger than {LARGEST_SENTRY_FILE >> 20} MB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise InvalidInput(reason(e)) from None
    left_out: list[LeftOut] = []
    is_json = text.lstrip().startswith("{")
    sections = _sections_of_json(text, left_out) if is_json else _sections_of_lines(text, left_out)
    for name in (GROUPS, ROLES):
        if name not in sections:
            raise InvalidInput(f"it has no section `{name if is_json else f'[{name}]'}`, so it is no export of Sentry")
    groups_of = _groups_of_roles(sections, left_out)
    roles = tuple(
        SentryRole(one.name, one.place, tuple(groups_of.get(one.name, ())), tuple(_privileges(one, left_out)))
        for one in sections[ROLES].values()
    )
    return SentryFile(roles, tuple(sorted(dict.fromkeys(left_out), key=lambda one: one.place)))


def _sections_of_json(text: str, left_out: list[LeftOut]) -> _Sections:
    found: _Sections = {}
    order = 0
    for section, entries in parse_text(text.encode(), ".json").items():
        order += 1
        if section not in (GROUPS, ROLES):
            why = _OTHER_SECTIONS.get(section, "unknown")
            left_out.append(LeftOut(SentryPlace(order, f"`{section}`"), f"section `{section}`", why))
            continue
        if not isinstance(entries, dict):
            raise InvalidInput(f"`{section}` is not an object with a list of texts for each name")
        found[section] = {}
        for name, values in entries.items():
            order += 1
            place = SentryPlace(order, f"`{section}.{name}`")
            if isinstance(values, list) and all(isinstance(one, str) for one in values):
                found[section][name] = _SentryEntry(name, place, tuple(one.strip() for one in values))
            else:
                left_out.append(LeftOut(place, f"`{name}`", "it is not a list of texts"))
    return found


def _sections_of_lines(text: str, left_out: list[LeftOut]) -> _Sections:
    read: dict[str, list[_SentryEntry]] = {}
    for section, number, line in _logical_lines(text):
        place = SentryPlace(number, f"line {number}")
        entries = read.setdefault(section, []) if section in (GROUPS, ROLES) else None
        if line is None:
            if entries is None:
                left_out.append(LeftOut(place, f"section `[{section}]`", _OTHER_SECTIONS.get(section, "unknown")))
        elif entries is None:
            if not section:
                left_out.append(LeftOut(place, f"`{line}`", "it is before the first section"))
        elif _goes_on(line):
            left_out.append(LeftOut(place, f"`{line}`", "it goes on in a next line that is not there"))
        elif not (entry := _ENTRY.fullmatch(line)):
            left_out.append(LeftOut(place, f"`{line}`", "it is not of the form `name = value, value`"))
        else:
            entries.append(_SentryEntry(entry[1], place, tuple(one.strip() for one in entry[2].split(","))))
    return {section: _without_twins(f"[{section}]", entries, left_out) for section, entries in read.items()}


def _without_twins(section: str, entries: Iterable[_SentryEntry], left_out: list[LeftOut]) -> dict[str, _SentryEntry]:
    by_name = grouped((entry.name, entry) for entry in entries)
    why = f"`{section}` has it more than once; none is taken (Sentry takes the last)"
    left_out += [LeftOut(one.place, f"`{one.name}`", why) for same in by_name.values() if len(same) > 1 for one in same]
    return {name: same[0] for name, same in by_name.items() if len(same) == 1}


def _logical_lines(text: str) -> Iterator[tuple[str, int, str | None]]:
    r"""Yield section, number and line; None for the head of a section. A line that ends in `\` goes on in the next."""
    section, begun, first = "", "", 0
    for number, raw in enumerate(_LINE_END.split(text), 1):
        line = raw.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and line[-1] == "]":
            if first:
                yield section, first, f"{begun}\\"
            section, begun, first = line[1:-1].strip(), "", 0
            yield section, number, None
            continue
        first = first or number
        if _goes_on(line):
            begun += line[:-1]
            continue
        yield section, first, begun + line
        begun, first = "", 0
    if first:
        yield section, first, f"{begun}\\"


def _goes_on(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _groups_of_roles(sections: _Sections, left_out: list[LeftOut]) -> dict[str, dict[str, None]]:
    found: dict[str, dict[str, None]] = {}
    for group in sections[GROUPS].values():
        for role in filter(None, group.values):
            if role in sections[ROLES]:
                found.setdefault(role, {})[group.name] = None
            else:
                what = f"role `{role}` of group `{group.name}`"
                left_out.append(LeftOut(group.place, what, f"`{ROLES}` does not have it"))
    return found


def _privileges(role: _SentryEntry, left_out: list[LeftOut]) -> Iterator[SentryPrivilege]:
    for text in role.values:
        try:
            parts, grants = _parts(text)
            privilege = _privilege(text, parts)
        except ValueError as e:
            left_out.append(LeftOut(role.place, f"`{text}` of role `{role.name}`", str(e)))
            continue
        if grants:
            why = "CDAP never used it (`AuthBinding`); who may grant is said by delegation in Ranger"
            left_out.append(LeftOut(role.place, f"`grantoption` of role `{role.name}`", why))
        yield privilege


def _parts(text: str) -> tuple[list[tuple[str, str]], bool]:
    """Return the parts, with keys in lower case, without the grant option that Sentry writes last."""
    parts: list[tuple[str, str]] = []
    for part in text.split("->"):
        key, equals, name = (one.strip() for one in part.partition("="))
        if not (key and equals and name):
            raise ValueError("each part of a privilege is `key=name`")
        parts.append((key.lower(), name))
    *others, (key, name) = parts
    return (others, True) if key == "grantoption" and name.lower() in ("true", "false") else (parts, False)


def _privilege(text: str, parts: list[tuple[str, str]]) -> SentryPrivilege:
    keys = [key for key, _ in parts]
    if hive := [key for key in keys if key in _OF_HIVE]:
        raise ValueError(f"`{hive[0]}` is of Hive, not of CDAP")
    if not keys or keys[-1] != "action":
        raise ValueError("a privilege ends with an action")
    *entity, (_, action) = parts
    if unknown := [key for key, _ in entity if key not in _KEYS]:
        raise ValueError(f"CDAP's Sentry binding has no `{unknown[0]}` there")
    if action.lower() not in _ACTIONS:
        raise ValueError(f"there is no action `{action}`: it is one of {', '.join(_ACTIONS)}")
    return SentryPrivilege(tuple(entity), _ACTIONS[action.lower()], text)
