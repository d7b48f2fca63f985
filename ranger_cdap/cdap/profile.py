"""`Profile`: one coherent table of operations; a row says what an operation needs of Ranger and what it gives."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from ranger_cdap.cdap.context import ROLES
from ranger_cdap.cdap.entity import entity_type, entity_types
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.errors import ConfigError, UnknownOperation

ACTIONS = ("READ", "WRITE", "ADMIN", "EXECUTE")

ANY = "ANY"
"""Any privilege on the entity: Ranger's `_any`."""

VISIBLE = "VISIBLE"
"""Any privilege on the entity or on anything below it."""

PERSONS = ("requesting", "effective", "executing", "master")
"""Who needs a privilege: who asks; the impersonated user or else who asks; the impersonated user or else the CDAP
master user; the CDAP master user."""

CONDITIONS = ("given", "impersonated")
"""When a privilege is needed at all: if its role is not empty, if CDAP impersonates somebody."""

Lists = Literal["", "each", "parent"]
"""Whether an operation lists: what it needs is asked of each entity and filters, or of the parent and shows all."""

Shows = Literal["", "details", "data"]
"""What an operation lets one see: details of the entity (S003-C3), or data."""


@dataclass(frozen=True, slots=True)
class Privilege:
    """One of `actions`, for a person, on what `target` names: `entity`, `parent`, a type on the way up, or a role."""

    actions: tuple[str, ...]
    target: str
    person: str = "requesting"
    conditions: tuple[str, ...] = ()

    def __str__(self) -> str:
        by = "" if self.person == "requesting" else f" by {self.person}"
        condition = f" if {' and '.join(self.conditions)}" if self.conditions else ""
        return f"{'|'.join(self.actions)} {self.target}{by}{condition}"


@dataclass(frozen=True, slots=True)
class Operation:
    """A row: the operation holds if every privilege of one alternative is held; `gives` is what its user gets by it.

    `names` are entities the row itself names by role; `<namespace>` in them stands for that part of its entity.
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


@dataclass(frozen=True, slots=True)
class Profile:
    """The rows of one requirement document, and the core policies for entity types and operations that have none."""

    name: str
    title: str
    rows: Mapping[str, Operation]
    core: Mapping[str, Operation]

    def operation(self, name: str) -> Operation:
        """The row `<entity type>.<operation>`, or the core policy of that operation.

        Raises:
            UnknownEntityType: the part before the dot is no entity type.
            UnknownOperation: neither exists; the message names the nearest row.
        """
        if row := self.rows.get(name):
            return row
        kind, dot, verb = name.partition(".")
        if dot and entity_type(kind).parent and (core := self.core.get(verb)):
            return replace(core, name=name, entity=kind)
        known = [*self.rows, *(f"{kind}.{verb}" for verb in self.core)] if dot else self.rows
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
        hint = f"; did you mean `{near[0]}`?" if near else ""
        raise UnknownOperation(f"profile `{self.name}` has no operation `{name}`{hint}")

    def resultant(self, kind: str) -> tuple[str, ...]:
        """The access types, as Ranger writes them, that the creator of such an entity gets; empty for none.

        Raises:
            UnknownEntityType: there is no such type.
        """
        if entity_type(kind).parent is None:
            return ()
        creating = [row for row in self.rows.values() if row.entity == kind and row.gives]
        gives = creating[0].gives if creating else self.core["create"].gives
        return tuple(action.lower() for action in gives)


def profile_names() -> tuple[str, ...]:
    """The names of all profiles, `default` first."""
    names = {path.name.removesuffix(".toml") for path in files(__package__).joinpath("profiles").iterdir()}
    return ("default", *sorted(names - {"default"}))


def load_profile(name: str) -> Profile:
    """The profile of that name.

    Raises:
        ConfigError: there is none.
    """
    if name not in profile_names():
        raise ConfigError(f"there is no profile `{name}`; known are {', '.join(profile_names())}")
    return _load(name)


def parse_privilege(text: str) -> Privilege:
    """`"READ|WRITE dataset"`, `"ADMIN datasets by effective if given"`: actions, a target, a person, conditions.

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


class _Row(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A row as it is written; `@name` in an alternative stands for the shared privileges of that name."""

    requirements: list[str]
    any_of: list[list[str]]
    gives: Literal["ALL"] | list[str] = []
    lists: Lists = ""
    shows: Shows = ""
    names: dict[str, list[str]] = {}
    open_question: bool = False
    note: str = ""


class _Table(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A profile as it is written; it may begin as a copy of another one."""

    title: str
    extends: str = ""
    shared: dict[str, list[str]] = {}
    core: dict[str, _Row] = {}
    operations: dict[str, dict[str, _Row]] = {}


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
def _table(name: str) -> _Table:
    """The file of that name, laid over the one it extends, row by row."""
    text = files(__package__).joinpath("profiles", f"{name}.toml").read_text(encoding="utf-8")
    own = msgspec.convert(tomllib.loads(text), _Table)
    if not own.extends:
        return own
    base = _table(own.extends)
    kinds = dict.fromkeys((*base.operations, *own.operations))
    return _Table(
        title=own.title,
        shared=base.shared | own.shared,
        core=base.core | own.core,
        operations={kind: base.operations.get(kind, {}) | own.operations.get(kind, {}) for kind in kinds},
    )


def _operation(name: str, kind: str, row: _Row, shared: Mapping[str, list[str]]) -> Operation:
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
