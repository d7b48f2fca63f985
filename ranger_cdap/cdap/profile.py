"""`Profile`: one coherent table of operations; a row says what an operation needs of Ranger and what it gives."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ranger_cdap.cdap.entity import entity_type
from ranger_cdap.errors import ConfigError, UnknownOperation

ACTIONS = ("READ", "WRITE", "ADMIN", "EXECUTE")

# Entities an operation needs besides its own, named by the role they play: the artifact an application is made
# from, and the artifact a jar becomes.
RELATED = ("artifact", "jar")


@dataclass(frozen=True, slots=True)
class Privilege:
    """One of `actions`, on the entity that `target` names: `entity`, `parent`, a type on the way up, or a related role.

    `if_given`: needed only when the caller names the related entity.
    """

    actions: tuple[str, ...]
    target: str
    if_given: bool = False

    def __str__(self) -> str:
        return f"{'|'.join(self.actions)} {self.target}{' if given' if self.if_given else ''}"


@dataclass(frozen=True, slots=True)
class Operation:
    """A row: the operation holds if every privilege of one alternative is held; `gives` is what its user gets by it."""

    name: str
    entity: str
    requirements: tuple[str, ...]
    alternatives: tuple[tuple[Privilege, ...], ...]
    gives: tuple[str, ...] = ()
    lists: bool = False
    open_question: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Profile:
    """The rows of one requirement document, and the core policies for entity types that have none."""

    name: str
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
        if dot and (core := self.core.get(verb)) and entity_type(kind).parent:
            return _on(core, kind)
        near = difflib.get_close_matches(name, self.rows, n=1, cutoff=0.4)
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


def load_profile(name: str) -> Profile:
    """The profile of that name.

    Raises:
        ConfigError: there is none.
    """
    known = {path.name.removesuffix(".toml") for path in files(__package__).joinpath("profiles").iterdir()}
    if name not in known:
        raise ConfigError(f"there is no profile `{name}`; known are {', '.join(sorted(known))}")
    return _load(name)


@cache
def _load(name: str) -> Profile:
    table = tomllib.loads(files(__package__).joinpath("profiles", f"{name}.toml").read_text(encoding="utf-8"))
    rows = [
        _operation(f"{kind}.{verb}", kind, row)
        for kind, verbs in table["operations"].items()
        for verb, row in verbs.items()
    ]
    core = {verb: _operation(verb, "entity", row) for verb, row in table["core"].items()}
    return Profile(name=name, rows={row.name: row for row in rows}, core=core)


def _operation(name: str, kind: str, row: Mapping[str, Any]) -> Operation:
    gives = row.get("gives", [])
    return Operation(
        name=name,
        entity=kind,
        requirements=tuple(row["requirements"]),
        alternatives=tuple(tuple(map(parse_privilege, alternative)) for alternative in row["any_of"]),
        gives=ACTIONS if gives == "ALL" else tuple(gives),
        lists=row.get("lists", False),
        open_question=row.get("open_question", False),
        note=row.get("note", ""),
    )


def parse_privilege(text: str) -> Privilege:
    """`"READ|WRITE dataset"`, `"READ artifact if given"`: actions, a target, and perhaps the condition.

    Raises:
        ConfigError: it is not of that form.
    """
    match text.split():
        case [actions, target] if set(actions.split("|")) <= set(ACTIONS):
            return Privilege(tuple(actions.split("|")), target)
        case [actions, target, "if", "given"] if set(actions.split("|")) <= set(ACTIONS) and target in RELATED:
            return Privilege(tuple(actions.split("|")), target, if_given=True)
        case _:
            raise ConfigError(f"`{text}` is not a privilege; write it like `READ|WRITE dataset`")


def _on(core: Operation, kind: str) -> Operation:
    return Operation(
        name=f"{kind}.{core.name}",
        entity=kind,
        requirements=core.requirements,
        alternatives=core.alternatives,
        gives=core.gives,
        lists=core.lists,
        note=core.note,
    )
