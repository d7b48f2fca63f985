"""Forms of the console: the fields of each view, what is typed into them, and the problem of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Final

from ranger_cdap.cdap.entity import EntityId, entity_id, entity_types, parse_entity
from ranger_cdap.cdap.pattern import EntityPattern, parse_pattern
from ranger_cdap.cdap.profile import Profile
from ranger_cdap.engine import ADMIN_ACCESS, PolicyEngine
from ranger_cdap.errors import InvalidInput, suggestion
from ranger_cdap.questions.known_user import access_types

LONGEST: Final = 1_000
MOST_NAMES: Final = 100


class ConsoleView(StrEnum):
    """Views of the console."""

    ASK = "ask"
    WHO = "who"
    WHAT = "what"
    MATRIX = "matrix"
    IMPACT = "impact"
    STATUS = "status"


@dataclass(frozen=True, slots=True)
class FormField:
    """A field; `missing` is the problem if it is empty, if it must not be; `options` names a list to choose from."""

    name: str
    label: str
    hint: str
    missing: str = ""
    options: str = ""


_USER: Final = FormField("user", "User", "as CDAP names the user, like alice", "enter a user name, as CDAP has it")
_GROUPS: Final = FormField(
    "groups",
    "Groups (may be empty)",
    "separated by commas; groups known to Ranger are added",
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
        ),
    ),
    ConsoleView.WHO: (
        FormField(
            "entity",
            "Entity or pattern",
            "type:name, like dataset:ns1.purchases or dataset:ns1.sales*",
            "enter an entity as type:name, like `dataset:ns1.purchases`",
        ),
        _ACCESS,
    ),
    ConsoleView.WHAT: (_USER, _GROUPS, _ACCESS),
    ConsoleView.MATRIX: (
        FormField("namespace", "Namespace", "like ns1", "enter a namespace, like `ns1`"),
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
        ),
        FormField(
            "groups",
            "Further groups (may be empty)",
            "separated by commas; those that policies name are there",
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

    def beside(self, name: str) -> ProblemBeside:
        """Return a context that takes an InvalidInput of its block for a problem of that field."""
        return ProblemBeside(self, name)

    def names(self, name: str) -> list[str]:
        """Return the names in a field, which are separated by commas.

        Raises:
            InvalidInput: there are too many.
        """
        found = [one for one in map(str.strip, self.typed[name].split(",")) if one]
        if len(found) > MOST_NAMES:
            raise InvalidInput(f"more than {MOST_NAMES} names")
        return found


@dataclass(frozen=True, slots=True)
class ProblemBeside:
    """Context that keeps the InvalidInput of its block in a form."""

    form: ConsoleForm
    name: str

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: type[BaseException] | None, e: BaseException | None, trace: TracebackType | None) -> bool:
        """Keep the error, if it is one of input; the first of a field stays."""
        if not isinstance(e, InvalidInput):
            return False
        self.form.problems.setdefault(self.name, str(e))
        return True


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
    if "operation" not in form.problems:
        with form.beside("operation"):
            profile.operation(form.typed["operation"])
    groups: list[str] = []
    with form.beside("groups"):
        groups = form.names("groups")
    if "entity" in form.problems:
        return None
    with form.beside("entity"):
        entity = parse_entity(form.typed["entity"])
        return None if form.problems else (groups, entity)
    return None


def asked_holders(form: ConsoleForm, engine: PolicyEngine) -> tuple[EntityId | EntityPattern, tuple[str, ...]] | None:
    """Return the entity or pattern and the access types; None if the form has a problem."""
    accesses = _accesses(form, engine)
    if "entity" in form.problems:
        return None
    with form.beside("entity"):
        entity = parse_pattern(form.typed["entity"])
        return None if form.problems else (entity, accesses)
    return None


def asked_user(form: ConsoleForm, engine: PolicyEngine) -> tuple[list[str], tuple[str, ...]] | None:
    """Return the groups and the access types; None if the form has a problem."""
    accesses, groups = _accesses(form, engine), list[str]()
    with form.beside("groups"):
        groups = form.names("groups")
    return None if form.problems else (groups, accesses)


@dataclass(frozen=True, slots=True)
class AskedMatrix:
    """A namespace, the types of entities, and users and groups to add."""

    namespace: EntityId
    types: tuple[str, ...]
    users: tuple[str, ...]
    groups: tuple[str, ...]


def asked_matrix(form: ConsoleForm) -> AskedMatrix | None:
    """Return what the form asks for; None if it has a problem."""
    lists: dict[str, tuple[str, ...]] = {}
    for name in ("types", "users", "groups"):
        with form.beside(name):
            lists[name] = tuple(form.names(name))
    with form.beside("types"):
        for one in lists.get("types", ()):
            if one not in entity_types():
                raise InvalidInput(f"there is no entity type `{one}`{suggestion(one, list(entity_types()))}")
    if "namespace" in form.problems:
        return None
    with form.beside("namespace"):
        namespace = entity_id("namespace", [form.typed["namespace"]])
        return None if form.problems else AskedMatrix(namespace, **lists)
    return None


def operations(profile: Profile) -> list[str]:
    """Return all operations, sorted: the profile's rows, and its core policies for every type."""
    core = (f"{kind.name}.{verb}" for kind in entity_types().values() if kind.parent for verb in profile.core)
    return sorted({*profile.rows, *core})


def options(profile: Profile, engine: PolicyEngine | None) -> Mapping[str, Sequence[str]]:
    """Return the lists to choose from: operations, access types and entity types."""
    accesses = (*(access.name for access in engine.service_def.access_types), ADMIN_ACCESS) if engine else ()
    return {
        "operations": operations(profile),
        "accesses": accesses,
        "types": [name for name in entity_types() if name != "instance"],
    }


def _accesses(form: ConsoleForm, engine: PolicyEngine) -> tuple[str, ...]:
    if "access" not in form.problems:
        with form.beside("access"):
            return access_types(form.names("access"), engine)
    return ()
