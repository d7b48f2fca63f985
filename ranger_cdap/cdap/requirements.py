"""What the five requirement documents say, id by id; the data is `requirements.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

import msgspec

CROSS_CUTTING = "cross-cutting"
DISAGREEMENTS = "disagreements"


class DocumentRow(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of a document's table; `was` is what the older version needed, where the document compares two."""

    needs: str
    gives: str = ""
    was: str = ""
    note: str = ""


class Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One requirement document: rows of its table, and everything else it says as sentences."""

    title: str
    about: str
    rows: dict[str, DocumentRow] = {}
    sentences: dict[str, str] = {}


class Disagreement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the documents disagree about, and what the default profile does."""

    about: str
    positions: str
    settled: str

    def __str__(self) -> str:
        return f"{self.about[0].upper()}{self.about[1:]}. {self.positions}. Default profile: {self.settled}."


class Requirements(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All documents by number, what several of them have in common, and where they disagree."""

    documents: dict[str, Document]
    cross_cutting: dict[str, str]
    disagreements: dict[str, Disagreement]

    @property
    def ids(self) -> tuple[str, ...]:
        """Every id, in the order of the documents."""
        return tuple(one for section in self.sections().values() for one in section)

    def sections(self) -> Mapping[str, Mapping[str, str]]:
        """Every id with its sentence, by document."""
        found: dict[str, Mapping[str, str]] = {
            number: dict(_sentences(number, document)) for number, document in self.documents.items()
        }
        settled = {name: str(one) for name, one in self.disagreements.items()}
        return found | {CROSS_CUTTING: self.cross_cutting, DISAGREEMENTS: settled}

    def rows(self, number: str) -> dict[str, DocumentRow]:
        """The rows of one document's table, by id."""
        return {f"S{number}-{key}": row for key, row in self.documents[number].rows.items()}


@cache
def load_requirements() -> Requirements:
    """Return the requirements of `requirements.toml`."""
    text = files(__package__).joinpath("requirements.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), Requirements)


def parse_needs(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Return the privileges of `"WRITE namespace & READ artifact"`: one of the actions, on a target."""
    return [(tuple(actions.split("|")), target) for actions, target in map(str.split, text.split(" & "))]


def _sentences(number: str, document: Document) -> Iterator[tuple[str, str]]:
    for key, row in document.rows.items():
        kind, _, operation = key.partition("-")
        yield f"S{number}-{key}", _sentence(kind, operation, row)
    for key, sentence in document.sentences.items():
        yield f"S{number}-{key}", sentence


def _sentence(kind: str, operation: str, row: DocumentRow) -> str:
    what = f"{kind.replace('_', ' ').capitalize()}, {operation.replace('-', '/').replace('_', ' ')}"
    gives = f"; its creator gets {row.gives}" if row.gives else ""
    was = f" Before: {_in_words(row.was)}." if row.was else ""
    note = f" ({row.note[0].upper()}{row.note[1:]}.)" if row.note else ""
    return f"{what}: needs {_in_words(row.needs)}{gives}.{was}{note}"


def _in_words(needs: str) -> str:
    """`READ or WRITE on the namespace and ADMIN on the stream`."""
    return " and ".join(
        f"{_any_of(actions)} on the {target.replace('_', ' ')}" for actions, target in parse_needs(needs)
    )


def _any_of(actions: tuple[str, ...]) -> str:
    *most, last = actions
    return f"{', '.join(most)} or {last}" if most else last
