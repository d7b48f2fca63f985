"""Forms of the console: the fields of each view, what is typed into them, and the problem of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Final, TypeVar

from ranger_cdap.authz.known_names import KnownNames
from ranger_cdap.cdap.entity import EntityId, entity_id, entity_types, parse_entity
from ranger_cdap.cdap.pattern import EntityPattern, parse_pattern
from ranger_cdap.cdap.profile import Profile
from ranger_cdap.cli.parameters import operation_names
from ranger_cdap.engine import ADMIN_ACCESS, PolicyEngine
from ranger_cdap.errors import InvalidInput, suggestion
from ranger_cdap.tools.questions.known_user import access_types

_Parsed = TypeVar("_Parsed")

LONGEST: Final = 1_000
MOST_NAMES: Final = 100
MOST_SUGGESTIONS: Final = 1_000
"""Names of a kind that a page offers: a browser shows the fitting ones."""


class ConsoleView(StrEnum):
    """Views of the console."""

    ASK = "ask"
    WHO = "who"
    WHAT = "what"
    MATRIX = "matrix"
    IMPACT = "impact"
    STATUS = "status"


PATHS: Final[Mapping[ConsoleView, str]] = {
    view: f"/{view}" if view is not ConsoleView.ASK else "/" for view in ConsoleView
}


@dataclass(frozen=True, slots=True)
class FormField:
    """A field; `missing` is the problem if it is empty, if it must not be; `options` names a list to choose from."""

    name: str
    label: str
    hint: str
    missing: str = ""
    options: str = ""


_USER: Final = FormField(
    "user", "User", "as CDAP names the user, like alice", "enter a user name, as CDAP has it", "users"
)
_GROUPS: Final = FormField(
    "groups",
    "Groups (may be empty)",
    "separated by commas; groups known to Ranger are added",
    options="groups",
)
_ACCESS: Final = FormField(
    "access",
    "Access types (all if empty)",
    "like read, or read, write",
    options="accesses",
)
FIELDS: Final[Mapping[ConsoleView, Sequence[FormField]]] = {
    ConsoleView.ASK: (
        _USER,
        _GROUPS,
        FormField(
            "operation",
            "Operation",
            "like dataset.get",
            "choose an operation from the list, like `dataset.get`",
            "operations",
        ),
        FormField(
            "entity",
            "Entity",
            "type:name, like dataset:ns1.purchases",
            "enter an entity as type:name, like `dataset:ns1.purchases`",
            "entities",
        ),
    ),
    ConsoleView.WHO: (
        FormField(
            "entity",
            "Entity or pattern",
            "type:name, like dataset:ns1.purchases or dataset:ns1.sales*",
            "enter an entity as type:name, like `dataset:ns1.purchases`",
            "entities",
        ),
        _ACCESS,
    ),
    ConsoleView.WHAT: (
        replace(_USER, missing=""),
        _GROUPS,
        FormField("role", "Role (may be empty)", "a role in addition to those of the user", options="roles"),
        _ACCESS,
    ),
    ConsoleView.MATRIX: (
        FormField("namespace", "Namespace", "like ns1", "enter a namespace, like `ns1`", "namespaces"),
        FormField(
            "types",
            "Entity types (all if empty)",
            "like dataset, or dataset, application",
            options="types",
        ),
        FormField(
            "users",
            "Further users (may be empty)",
            "separated by commas; those that policies name are there",
            options="users",
        ),
        FormField(
            "groups",
            "Further groups (may be empty)",
            "separated by commas; those that policies name are there",
            options="groups",
        ),
    ),
    ConsoleView.IMPACT: (_ACCESS,),
    ConsoleView.STATUS: (),
}


@dataclass(frozen=True, slots=True)
class ConsoleForm:
    """Values typed into the fields of a view, stripped, and the problem of each field."""

    view: ConsoleView
    typed: Mapping[str, str]
    problems: dict[str, str] = field(default_factory=dict)

    def parsed(self, name: str, parse: Callable[[], _Parsed]) -> _Parsed | None:
        """Return what is parsed; None if the input is not usable, then a problem of the field."""
        try:
            return parse()
        except InvalidInput as e:
            self.problems.setdefault(name, str(e))
            return None

    def names(self, name: str) -> list[str]:
        """Return the names in a field, which are separated by commas.

        Raises:
            InvalidInput: there are too many.
        """
        found = [one for one in map(str.strip, self.typed[name].split(",")) if one]
        if len(found) > MOST_NAMES:
            raise InvalidInput(f"more than {MOST_NAMES} names")
        return found


def filled(view: ConsoleView, query: Mapping[str, str]) -> ConsoleForm | None:
    """Return the form filled from query parameters, with the problems of empty and long fields; None without any."""
    fields = FIELDS[view]
    if not any(one.name in query for one in fields):
        return None
    typed = {one.name: query.get(one.name, "").strip() for one in fields}
    problems = {one.name: one.missing for one in fields if one.missing and not typed[one.name]}
    problems |= {name: f"longer than {LONGEST} characters" for name, text in typed.items() if len(text) > LONGEST}
    return ConsoleForm(view, typed, problems)


def blank(view: ConsoleView) -> ConsoleForm:
    """Return the form with nothing typed."""
    return ConsoleForm(view, {one.name: "" for one in FIELDS[view]})


def asked_operation(form: ConsoleForm, profile: Profile) -> tuple[list[str], EntityId] | None:
    """Return the groups and the entity of a permission check; None if the form has a problem."""
    entity = form.parsed("entity", lambda: parse_entity(form.typed["entity"]))
    kind = "" if entity is None else entity.type
    form.parsed("operation", lambda: profile.operation(form.typed["operation"], kind))
    groups = form.parsed("groups", lambda: form.names("groups"))
    return None if form.problems or groups is None or entity is None else (groups, entity)


def asked_holders(form: ConsoleForm, engine: PolicyEngine) -> tuple[EntityId | EntityPattern, tuple[str, ...]] | None:
    """Return the entity or pattern and the access types; None if the form has a problem."""
    accesses = _accesses(form, engine)
    entity = form.parsed("entity", lambda: parse_pattern(form.typed["entity"]))
    return None if form.problems or entity is None or accesses is None else (entity, accesses)


def asked_user(form: ConsoleForm, engine: PolicyEngine) -> tuple[list[str], tuple[str, ...]] | None:
    """Return the groups and the access types; None if the form has a problem."""
    if not any(form.typed[name] for name in ("user", "groups", "role")):
        form.problems["user"] = _USER.missing
    accesses = _accesses(form, engine)
    groups = form.parsed("groups", lambda: form.names("groups"))
    return None if form.problems or groups is None or accesses is None else (groups, accesses)


def asked_matrix(form: ConsoleForm) -> tuple[EntityId, dict[str, list[str]]] | None:
    """Return the namespace, and the types of entities, users and groups by their fields; None if it has a problem."""
    fields: Mapping[str, Callable[[], list[str]]] = {
        "types": lambda: _types(form.names("types")),
        **{name: partial(form.names, name) for name in ("users", "groups")},
    }
    found = {name: form.parsed(name, parse) or [] for name, parse in fields.items()}
    namespace = form.parsed("namespace", lambda: entity_id("namespace", [form.typed["namespace"]]))
    return None if form.problems or namespace is None else (namespace, found)


def _types(names: list[str]) -> list[str]:
    for one in names:
        if one not in entity_types():
            raise InvalidInput(f"there is no entity type `{one}`{suggestion(one, list(entity_types()))}")
    return names


def options(profile: Profile, engine: PolicyEngine | None, names: KnownNames) -> Mapping[str, Sequence[str]]:
    """Return the lists to choose from: operations, types, and the first of the known names of each kind."""
    accesses = (*(access.name for access in engine.service_def.access_types), ADMIN_ACCESS) if engine else ()
    known: Mapping[str, Iterable[str]] = {
        "users": names.users,
        "groups": names.groups,
        "roles": names.roles,
        "namespaces": names.namespaces,
        "entities": set(names.entities()),
    }
    return {
        "operations": sorted(operation_names(profile)),
        "accesses": accesses,
        "types": [name for name in entity_types() if name != "instance"],
        **{kind: sorted(found)[:MOST_SUGGESTIONS] for kind, found in known.items()},
    }


def _accesses(form: ConsoleForm, engine: PolicyEngine) -> tuple[str, ...] | None:
    return form.parsed("access", lambda: access_types(form.names("access"), engine))
