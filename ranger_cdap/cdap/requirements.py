"""The six requirement documents, id by id; the data is `requirements.toml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

import msgspec.toml

from ranger_cdap.cdap.entity import entity_type, entity_types
from ranger_cdap.cdap.profile import ACTIONS, VISIBLE, Operation, Privilege

CROSS_CUTTING = "cross-cutting"
DISAGREEMENTS = "disagreements"

# Verbs of the documents' tables: with a phrase of their own, and with a last letter that is doubled.
_PHRASES = {"executeAdmin": "executing the admin operation", "asyncEnqueue": "enqueuing asynchronously"}
_BELOW: Mapping[tuple[str, ...], str] = {(VISIBLE,): " or on anything in it"}
_DOUBLED = frozenset({"debug", "drop", "emit", "get", "set", "stop"})


class DocumentRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Row of a document's table; `was` is the older version's privilege, where the document compares two.

    `page` is where the row is written, if the document has several pages.
    """

    needs: str
    gives: str = ""
    was: str = ""
    note: str = ""
    page: str = ""


class RequirementDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Requirement document: the rows of its table, and its other statements as sentences."""

    title: str
    about: str
    rows: dict[str, DocumentRow] = {}
    sentences: dict[str, str] = {}


class Disagreement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Disagreement between the documents, and how the default profile settles it."""

    about: str
    positions: str
    settled: str

    def __str__(self) -> str:
        return f"{self.about[0].upper()}{self.about[1:]}. {self.positions}. Default profile: {self.settled}."


class Requirements(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All documents by number, the requirements that several share, their disagreements, and what sentences ask for."""

    documents: dict[str, RequirementDocument]
    cross_cutting: dict[str, str]
    disagreements: dict[str, Disagreement]
    asks: dict[str, list[str]]

    def sections(self) -> Mapping[str, Mapping[str, str]]:
        """Return every id with its sentence, by document."""
        found: dict[str, Mapping[str, str]] = {
            number: dict(_sentences(number, document)) for number, document in self.documents.items()
        }
        settled = {name: str(one) for name, one in self.disagreements.items()}
        return found | {CROSS_CUTTING: self.cross_cutting, DISAGREEMENTS: settled}

    def rows(self, number: str) -> dict[str, DocumentRow]:
        """Return the rows of one document's table, by id."""
        return {f"S{number}-{key}": row for key, row in self.documents[number].rows.items()}


@cache
def load_requirements() -> Requirements:
    """Return the requirements of `requirements.toml`."""
    return msgspec.toml.decode(files(__package__).joinpath("requirements.toml").read_bytes(), type=Requirements)


def with_sentence(requirement: str) -> str:
    """Return a requirement's id with its sentence: `S003-dataset-get: Getting a dataset needs READ on the dataset.`"""
    return f"{requirement}: {requirement_sentences()[requirement]}"


@cache
def requirement_sentences() -> Mapping[str, str]:
    """Return the sentence of every requirement, by id."""
    sections = load_requirements().sections()
    return {name: sentence for section in sections.values() for name, sentence in section.items()}


def parse_needs(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Parse privileges like `"WRITE namespace & READ artifact"` into pairs of alternative actions and a target."""
    return [(tuple(actions.split("|")), target) for actions, target in map(str.split, text.split(" & "))]


def requirements_of(row: Operation, privilege: Privilege, capacity: str) -> tuple[str, ...]:
    """Return the ids of the row that ask for this privilege of a user in that capacity; all of them if none does.

    An id that asks for fewer actions than every privilege of the row on that target asks for this one, too.
    """
    if len(row.requirements) == 1:
        return row.requirements
    target = resolved_target(privilege.target, row)
    on_target = [
        set(one.actions)
        for alternative in row.alternatives
        for one in alternative
        if resolved_target(one.target, row) == target
    ]
    found = [
        name
        for name in row.requirements
        for asked in _asked_by(name)
        if resolved_target(asked.target, row) == target and asked.capacity in ("", capacity)
        if set(asked.actions) == set(privilege.actions)
        or (set(asked.actions) < set(privilege.actions) and set(asked.actions) not in on_target)
    ]
    return tuple(dict.fromkeys(found)) or row.requirements


class _Asked(msgspec.Struct, frozen=True):
    """Privilege that a requirement asks for; `capacity` is empty if it names none."""

    actions: tuple[str, ...]
    target: str
    capacity: str = ""


@cache
def _asked_by(requirement: str) -> tuple[_Asked, ...]:
    requirements = load_requirements()
    number, _, key = requirement.removeprefix("S").partition("-")
    document = requirements.documents.get(number)
    if document is not None and key in document.rows:
        return tuple(_Asked(actions, target) for actions, target in parse_needs(document.rows[key].needs))
    split = [text.partition(" by ") for text in requirements.asks.get(requirement, ())]
    return tuple(_Asked(*parse_needs(needs)[0], capacity) for needs, _, capacity in split)


def resolved_target(target: str, row: Operation) -> str:
    """Return the entity type that `entity` or `parent` means in a row; any other target as it is."""
    path = entity_type(row.entity).path if row.entity in entity_types() else ()
    levels = {"entity": path[-1:], "parent": path[-2:-1]}.get(target)
    return levels[0] if levels else target


def _sentences(number: str, document: RequirementDocument) -> Iterator[tuple[str, str]]:
    for key, row in document.rows.items():
        kind, _, operation = key.partition("-")
        yield f"S{number}-{key}", _sentence(kind, operation, row)
    yield from ((f"S{number}-{key}", sentence) for key, sentence in document.sentences.items())


def _sentence(kind: str, operation: str, row: DocumentRow) -> str:
    """Return the requirement of a row: `Getting a dataset needs READ on the dataset.`"""
    gives = f"; its creator gets {row.gives}" if row.gives else ""
    doing = _doing(operation, kind.replace("_", " "))
    return f"{doing[0].upper()}{doing[1:]} needs {_in_words(row.needs)}{gives}."


def _doing(operation: str, kind: str) -> str:
    """Return the operation as text: `getting a dataset`, `setting the preference of a program`."""
    target = f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
    verb, _, thing = operation.partition("_")
    if verb == "list":
        return f"listing {kind}s"
    if verb == "add" and thing:
        return f"adding {thing} to {target}"
    if thing:
        article = "" if verb in _PHRASES else "the "
        return f"{_gerund(verb)} {article}{thing.replace('_', ' ')} of {target}"
    return f"{_any_of(tuple(map(_gerund, operation.split('-'))))} {target}"


def _gerund(verb: str) -> str:
    stem = f"{verb}{verb[-1]}" if verb in _DOUBLED else verb.removesuffix("e")
    return _PHRASES.get(verb, f"{stem}ing")


def _in_words(needs: str) -> str:
    """Return the privileges as text: `READ or WRITE on the namespace and ADMIN on the stream`."""
    return " and ".join(
        f"{_of_actions(actions)} on the {target.replace('_', ' ')}{_BELOW.get(actions, '')}"
        for actions, target in parse_needs(needs)
    )


def _of_actions(actions: tuple[str, ...]) -> str:
    return "any privilege" if actions == (VISIBLE,) or set(actions) == set(ACTIONS) else _any_of(actions)


def _any_of(actions: tuple[str, ...]) -> str:
    *most, last = actions
    return f"{', '.join(most)} or {last}" if most else last
