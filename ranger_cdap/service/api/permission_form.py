"""The form of the page: typed values, their problems, and the answer with all evaluated alternatives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.entity import entity_types, parse_entity
from ranger_cdap.cdap.profile import Profile
from ranger_cdap.errors import InvalidInput

LONGEST: Final = 1_000
FIELDS: Final = ("user", "groups", "operation", "entity")
_MISSING: Final = {
    "user": "enter a user name, as CDAP has it",
    "operation": "choose an operation from the list, like `dataset.get`",
    "entity": "enter an entity as type:name, like `dataset:ns1.purchases`",
}


@dataclass(frozen=True, slots=True)
class PermissionForm:
    """Typed values of the fields, the problem of each, and the answer if there is no problem."""

    typed: Mapping[str, str]
    problems: Mapping[str, str] = field(default_factory=dict)
    answer: Answer | None = None


def filled_form(query: Mapping[str, str], authorizer: Authorizer) -> PermissionForm:
    """Return the form filled from the query parameters; empty without any of them."""
    typed = {name: query.get(name, "").strip() for name in FIELDS}
    if not any(name in query for name in FIELDS):
        return PermissionForm(typed)
    problems = {name: sentence for name, sentence in _MISSING.items() if not typed[name]}
    problems |= {name: f"longer than {LONGEST} characters" for name in FIELDS if len(typed[name]) > LONGEST}
    if "operation" not in problems:
        try:
            authorizer.decider.config.profile.operation(typed["operation"])
        except InvalidInput as e:
            problems["operation"] = str(e)
    entity = None
    if "entity" not in problems:
        try:
            entity = parse_entity(typed["entity"])
        except InvalidInput as e:
            problems["entity"] = str(e)
    if problems or entity is None:
        return PermissionForm(typed, problems)
    groups = [name for name in map(str.strip, typed["groups"].split(",")) if name]
    try:
        return PermissionForm(typed, {}, authorizer.explain(typed["user"], groups, typed["operation"], entity))
    except InvalidInput as e:
        return PermissionForm(typed, {"entity": str(e)})


def operations(profile: Profile) -> tuple[str, ...]:
    """Return all operations, sorted: the profile's rows, and its core policies for every type."""
    core = (f"{kind.name}.{verb}" for kind in entity_types().values() if kind.parent for verb in profile.core)
    return tuple(sorted({*profile.rows, *core}))
