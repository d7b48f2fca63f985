"""The page `docs/reference/requirements.md`: every id of the requirement documents, and where it is implemented."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pages import table
from ranger_cdap.cdap.profile import load_profile, profile_names
from ranger_cdap.cdap.requirements import CROSS_CUTTING, DISAGREEMENTS, DocumentRow, load_requirements
from ranger_cdap.keyed import grouped

ACCEPTANCE: Final = Path(__file__).parents[2] / "tests" / "cdap" / "acceptance.toml"

_HEAD = """\
Six documents define the privileges that operations of CDAP need and give. Some are versions of one another and
disagree; [one of them decides then](#disagreements). The last is CDAP's own documentation, which the profile `cdap-6`
follows. This page lists every id with its requirement, and where it is implemented. The data is
`ranger_cdap/cdap/requirements.toml`.

An id is `S`, the document and its row or sentence: `S003-namespace-create`, `S003-C1`. `CORE` is a core policy, `P`
prose, `C` a comment, `R` a remark, `G` a general statement; `X-` is common to several documents, `D` a
disagreement.

"""

_HOW = """
## Reading the tables

- A *row* of a document's table asks for privileges as [operations](operations.md) writes them: `READ|WRITE` is one of
  the two, `ANY` any privilege on the entity, `VISIBLE` also one on anything in it. *Gives* is what the creator gets,
  *before* the older version's privilege.
- The operation `namespace.create` of the document's [profile](operations.md) implements the row `namespace-create`,
  unless the table names others. In brackets are the profiles. A *core policy* is the rule for entity types and
  operations without a row. `tests/cdap/test_profile_rows.py` verifies that exactly the privileges of a row suffice.
- A *test* covers a requirement that is more than a row, as far as that test goes.
- A *remark* requires nothing; its consequence is stated.
- Whether CDAP's own checks decide an operation: [operations](operations.md#operations-that-cdaps-calls-do-not-decide).
"""

_TITLES = {CROSS_CUTTING: "Common to several documents", DISAGREEMENTS: "Disagreements"}
_PROFILES = {"005": "cdap-6"}


def page() -> str:
    """Return the documents, how to read the tables, and for each its rows and its other statements."""
    requirements = load_requirements()
    sections = requirements.sections()
    documents = [
        (f"[{number}](#document-{number})", one.title, one.about, str(len(sections[number])))
        for number, one in requirements.documents.items()
    ]
    parts = [_HEAD, table(("document", "title", "kind", "ids"), documents), _HOW]
    implemented, acceptance = _rows_by_id(), tomllib.loads(ACCEPTANCE.read_text(encoding="utf-8"))
    for name, sentences in sections.items():
        parts += [f"\n## {_TITLES.get(name, f'Document {name}')}\n\n"]
        rows = requirements.rows(name) if name in requirements.documents else {}
        if rows:
            own = _PROFILES.get(name, name)
            lines = [(f"`{one}`", _asked(row), _more(one, row, own, implemented)) for one, row in rows.items()]
            parts += [table(("id", "needs", "remark"), lines), "\n"]
        others = {one: said for one, said in sentences.items() if one not in rows}
        lines = [(f"`{one}`", said, "; ".join(_met(one, implemented, acceptance))) for one, said in others.items()]
        parts += [table(("id", "requirement", "implemented by"), lines)]
    return "".join(parts)


def _asked(row: DocumentRow) -> str:
    """Return the privileges of a row: those it needs, and those it gives."""
    return f"`{row.needs}`" + (f", gives {row.gives}" if row.gives else "")


def _more(requirement: str, row: DocumentRow, own: str, rows: Mapping[str, Mapping[str, list[str]]]) -> str:
    """Return the earlier privilege of a row, its note, its place among several pages, and unexpected operations."""
    was = f"before: `{row.was}`" if row.was else ""
    expected = f"`{requirement.partition('-')[2].replace('-', '.', 1)}`"
    profiles = rows.get(requirement, {})
    others = "" if list(profiles) == [expected] and own in profiles[expected] else ", ".join(_by_rows(profiles))
    return "; ".join(filter(None, (was, row.note, row.page, others)))


def _rows_by_id() -> dict[str, dict[str, list[str]]]:
    """Return for each id the rows that name it, each with the profiles that have it so."""
    found: dict[str, dict[str, list[str]]] = {}
    for profile in map(load_profile, profile_names()):
        core = ((f"core policy `{verb}`", row.requirements) for verb, row in profile.core.items())
        rows = ((f"`{row.name}`", row.requirements) for row in profile.rows.values())
        for name, requirements in (*rows, *core):
            for requirement in requirements:
                found.setdefault(requirement, {}).setdefault(name, []).append(profile.name)
    return found


def _by_rows(rows: Mapping[str, list[str]]) -> Iterator[str]:
    by_profiles = grouped((", ".join(profiles), name) for name, profiles in rows.items())
    for among, names in by_profiles.items():
        yield f"{', '.join(names)} ({among})"


def _met(requirement: str, rows: Mapping[str, Mapping[str, list[str]]], acceptance: Mapping[str, Any]) -> Iterator[str]:
    yield from _by_rows(rows.get(requirement, {}))
    yield from (f"`{node}`" for node in acceptance["shown_by"].get(requirement, ()))
    if remark := acceptance["remarks"].get(requirement):
        yield f"remark: {remark}"
