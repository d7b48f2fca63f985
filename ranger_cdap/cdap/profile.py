"""Profiles: coherent tables of operations, with the privileges each requires and those it grants to its user."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec.toml

from ranger_cdap.cdap.context import ROLES
from ranger_cdap.cdap.entity import entity_type, entity_types
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.errors import ConfigError, UnknownOperation, suggestion

ACTIONS = ("READ", "WRITE", "ADMIN", "EXECUTE")

ANY = "ANY"
"""Action for any privilege on the entity: Ranger's `_any`."""

VISIBLE = "VISIBLE"
"""Action for any privilege on the entity or on anything below it."""

PERSONS = ("requesting", "effective", "executing", "master")
"""Holders of a privilege: the requesting user; the impersonated user or else the requesting one; the impersonated user
or else the CDAP master user; the CDAP master user."""

CONDITIONS = ("given", "impersonated")
"""Conditions under which a privilege is required: its role is not empty; CDAP impersonates a user."""

SYNONYMS: Mapping[str, str] = {
    "application.create": "application.deploy",
    "artifact.create": "artifact.add",
    "artifact.add_metadata": "artifact.write_metadata",
    "artifact.get_metadata": "artifact.read_metadata",
    "dataset.delete": "dataset.drop",
    "stream.update": "stream.update_properties",
    "stream.set_preference": "stream.set_preferences",
    "stream.get_preference": "stream.get_preferences",
}
"""Operations by the name of a core policy, where the documents have a row under another name: the row decides."""

Lists = Literal["", "each", "parent"]
"""Kind of listing: the privileges are required on each entity and filter the list, or on the parent and show all."""

Shows = Literal["", "details", "data"]
"""Kind of information an operation shows: details of the entity (S003-C3), or data."""


@dataclass(frozen=True, slots=True)
class Privilege:
    """Privilege of a row: one of `actions` on `target`, which is `entity`, `parent`, an ancestor's type or a role."""

    actions: tuple[str, ...]
    target: str
    person: str = "requesting"
    conditions: tuple[str, ...] = ()

    def __str__(self) -> str:
        by = "" if self.person == "requesting" else f" by {self.person}"
        condition = f" if {' and '.join(self.conditions)}" if self.conditions else ""
        return f"{'|'.join(self.actions)} {self.target}{by}{condition}"


class DirectPrivilege(msgspec.Struct, frozen=True):
    """Privilege on the entity of a row, or above it: on `type`, named by its first `depth` parts (None: by all)."""

    privilege: Privilege
    type: str
    depth: int | None


@dataclass(frozen=True, slots=True)
class Operation:
    """Row of a profile: allowed if every privilege of one alternative is held; `gives` is granted to its user.

    `names` are entities that the row itself names by role; `<namespace>` in them stands for that part of its entity.
    """

    name: str
    entity: str
    requirements: tuple[str, ...]
    alternatives: tuple[tuple[Privilege, ...], ...]
    gives: tuple[str, ...] = ()
    lists: Lists = ""
    shows: Shows = ""
    names: Mapping[str, tuple[EntityPattern, ...]] = field(default_factory=dict)
    open_question: bool = False
    note: str = ""
    direct: tuple[tuple[DirectPrivilege, ...], ...] | None = field(init=False, repr=False, compare=False)
    """Alternatives, worked out for an entity of the row's type; None if they need more than it and what is above it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "direct", None if self.names else _direct(self.entity, self.alternatives))


@dataclass(frozen=True, slots=True)
class Profile:
    """Rows of one requirement document, and the core policies for entity types and operations without a row."""

    name: str
    title: str
    rows: Mapping[str, Operation]
    core: Mapping[str, Operation]
    _core_rows: dict[str, Operation] = field(default_factory=dict, init=False, repr=False, compare=False)

    def operation(self, name: str, entity: str = "") -> Operation:
        """Return the row `<entity type>.<operation>`, by this name or a synonym, or the core policy of that operation.

        A row of `checks.toml` takes the place of the core policy where no requirement document covers an operation. For
        an operation on an `entity` of a type, those of that type are suggested.

        Raises:
            UnknownEntityType: the part before the dot is not an entity type.
            UnknownOperation: neither exists; the message names the nearest row.
        """
        if row := self.rows.get(SYNONYMS.get(name, name)) or self._core_rows.get(name):
            return row
        kind, dot, verb = name.partition(".")
        parent = entity_type(kind).parent if dot else None
        if row := uncovered_rows().get(name) if dot else None:
            return row
        if parent and (core := self.core.get(verb)):
            return self._core_rows.setdefault(name, replace(core, name=name, entity=kind))
        known = dict.fromkeys((*self.rows, *uncovered_rows()) if dot or entity else self.rows)
        known |= dict.fromkeys(f"{entity or kind}.{verb}" for verb in self.core if entity or parent)
        hint = suggestion(name, known)
        if own := [one for one in known if entity and one.startswith(f"{entity}.")]:
            meant = f"{entity}.{verb or kind}"
            near = suggestion(verb or kind, [one.partition(".")[2] for one in own], prefix=f"{entity}.")
            hint = f"; did you mean `{meant}`?" if meant in own else near or f"; known are {', '.join(own)}"
        raise UnknownOperation(f"profile `{self.name}` has no operation `{name}`{hint}")

    def resultant(self, kind: str) -> tuple[str, ...]:
        """Return Ranger's access types that the creator of such an entity gets; empty for none.

        Raises:
            UnknownEntityType: there is no such type.
        """
        if entity_type(kind).parent is None:
            return ()
        creating = [row for row in self.rows.values() if row.entity == kind and row.gives]
        gives = creating[0].gives if creating else self.core["create"].gives
        return tuple(action.lower() for action in gives)


def _direct(
    kind: str, alternatives: tuple[tuple[Privilege, ...], ...]
) -> tuple[tuple[DirectPrivilege, ...], ...] | None:
    known = entity_types().get(kind)  # a core policy has no type before it is looked up for one
    if known is None:
        return None
    path = known.path
    levels = {"entity": kind, "parent": known.parent or ""}
    found = []
    for alternative in dict.fromkeys(alternatives):
        targets = [levels.get(privilege.target, privilege.target) for privilege in alternative]
        if any(p.conditions or p.target in ROLES for p in alternative) or not set(targets) <= set(path):
            return None
        depths = (path.index(target) if target != kind else None for target in targets)
        found.append(tuple(map(DirectPrivilege, alternative, targets, depths)))
    return tuple(found)


def profile_names() -> tuple[str, ...]:
    """Return the names of all profiles, `default` first."""
    names = {path.name.removesuffix(".toml") for path in files(__package__).joinpath("profiles").iterdir()}
    return ("default", *sorted(names - {"default"}))


def load_profile(name: str) -> Profile:
    """Return the profile of that name.

    Raises:
        ConfigError: there is none.
    """
    if name not in profile_names():
        raise ConfigError(f"there is no profile `{name}`; known are {', '.join(profile_names())}")
    return _load(name)


@cache
def uncovered_rows() -> Mapping[str, Operation]:
    """Return the rows of `checks.toml` for operations that no requirement document covers, by name.

    Those named `entity.…` and `inner.…` are for entities of any type; they are no operations by these names.
    """
    text = files(__package__).joinpath("checks", "checks.toml").read_text(encoding="utf-8")
    rows = msgspec.convert(tomllib.loads(text)["operations"], dict[str, dict[str, list[str]]])
    return {
        f"{kind}.{verb}": Operation(f"{kind}.{verb}", kind, (), (tuple(map(parse_privilege, privileges)),))
        for kind, verbs in rows.items()
        for verb, privileges in verbs.items()
    }


def parse_privilege(text: str) -> Privilege:
    """Parse a privilege, like `"READ|WRITE dataset"` or `"ADMIN datasets by effective if given"`.

    Raises:
        ConfigError: it is not of that form.
    """
    words, _, condition = text.partition(" if ")
    match words.split():
        case [actions, target]:
            person = "requesting"
        case [actions, target, "by", person]:
            pass
        case _:
            raise _no_privilege(text)
    privilege = Privilege(
        tuple(actions.split("|")), target, person, tuple(condition.split(" and ")) if condition else ()
    )
    known = (
        set(privilege.actions) <= set(ACTIONS) or privilege.actions in ((ANY,), (VISIBLE,)),
        target in {"entity", "parent", *ROLES, *entity_types()},
        person in PERSONS,
        set(privilege.conditions) <= set(CONDITIONS if target in ROLES else CONDITIONS[1:]),
    )
    if not all(known):
        raise _no_privilege(text)
    return privilege


def _no_privilege(text: str) -> ConfigError:
    return ConfigError(f"`{text}` is not a privilege; write it like `READ|WRITE dataset`")


class _ProfileRow(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Row in the file's format; `@name` in an alternative stands for the shared privileges of that name."""

    requirements: list[str]
    any_of: list[list[str]]
    gives: Literal["ALL"] | list[str] = []
    lists: Lists = ""
    shows: Shows = ""
    names: dict[str, list[str]] = {}
    open_question: bool = False
    note: str = ""


class _ProfileFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """Profile in the file's format; it may extend another one."""

    title: str
    extends: str = ""
    shared: dict[str, list[str]] = {}
    core: dict[str, _ProfileRow] = {}
    operations: dict[str, dict[str, _ProfileRow]] = {}


@cache
def _load(name: str) -> Profile:
    table = _table(name)
    rows = [
        _operation(f"{kind}.{verb}", kind, row, table.shared)
        for kind, verbs in table.operations.items()
        for verb, row in verbs.items()
    ]
    core = {verb: _operation(verb, "entity", row, table.shared) for verb, row in table.core.items()}
    return Profile(name=name, title=table.title, rows={row.name: row for row in rows}, core=core)


@cache
def _table(name: str) -> _ProfileFile:
    """Return the file of that name merged over the one it extends, row by row."""
    own = msgspec.toml.decode(files(__package__).joinpath("profiles", f"{name}.toml").read_bytes(), type=_ProfileFile)
    if not own.extends:
        return own
    base = _table(own.extends)
    kinds = dict.fromkeys((*base.operations, *own.operations))
    return _ProfileFile(
        title=own.title,
        shared=base.shared | own.shared,
        core=base.core | own.core,
        operations={kind: base.operations.get(kind, {}) | own.operations.get(kind, {}) for kind in kinds},
    )


def _operation(name: str, kind: str, row: _ProfileRow, shared: Mapping[str, list[str]]) -> Operation:
    def privileges(alternative: list[str]) -> tuple[Privilege, ...]:
        texts = [t for text in alternative for t in (shared[text[1:]] if text.startswith("@") else [text])]
        return tuple(map(parse_privilege, texts))

    return Operation(
        name=name,
        entity=kind,
        requirements=tuple(row.requirements),
        alternatives=tuple(map(privileges, row.any_of)),
        gives=ACTIONS if row.gives == "ALL" else tuple(row.gives),
        lists=row.lists,
        shows=row.shows,
        names={role: tuple(map(_template, texts)) for role, texts in row.names.items()},
        open_question=row.open_question,
        note=row.note,
    )


def _template(text: str) -> EntityPattern:
    kind, _, rest = text.partition(":")
    return EntityPattern(kind, tuple(rest.split(".", len(entity_type(kind).path) - 2)))
