"""The page `docs/reference/requirements.md`: every id of the requirement documents, and where it is implemented."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pages import table
from ranger_cdap.cdap.profile import load_profile, profile_names
from ranger_cdap.cdap.requirements import CROSS_CUTTING, DISAGREEMENTS, DocumentRow, load_requirements

ACCEPTANCE: Final = Path(__file__).parents[2] / "tests" / "cdap" / "acceptance.toml"

_HEAD = """\
Six documents define the privileges that operations of CDAP need and give. Some are versions of one another and
disagree; [one of them decides then](#disagreements). The last is CDAP's own documentation, which the profile `cdap-6`
follows. This page lists every id with its requirement in plain words, and where it is implemented. The data is
`ranger_cdap/cdap/requirements.toml`.

An id is `S`, the document and its row or sentence: `S003-namespace-create`, `S003-C1`. `CORE` is a core policy, `P`
prose, `C` a comment, `R` a remark, `G` a general statement; `X-` is common to several documents, `D` a
disagreement.

"""

_HOW = """
## Reading the tables

- A *row* is an operation of a [profile](operations.md); in brackets are the profiles whose row names the id. A *core
  policy* is the rule for entity types and operations without a row. `tests/cdap/test_profile_rows.py` verifies for
  every row that exactly its privileges suffice.
- A *test* covers a requirement that is more than a row, as far as that test goes.
- A *remark* requires nothing; its consequence is stated.
- Whether CDAP's own checks decide an operation: [operations](operations.md#operations-that-cdaps-calls-do-not-decide).
"""

_TITLES = {CROSS_CUTTING: "Common to several documents", DISAGREEMENTS: "Disagreements"}


def page() -> str:
    """Return the documents, how to read the tables, and a table per document."""
    requirements = load_requirements()
    sections = requirements.sections()
    documents = [
        (f"[{number}](#document-{number})", one.title, one.about, str(len(sections[number])))
        for number, one in requirements.documents.items()
    ]
    parts = [_HEAD, table(("document", "title", "kind", "ids"), documents), _HOW]
    rows, acceptance = _rows_by_id(), tomllib.loads(ACCEPTANCE.read_text(encoding="utf-8"))
    for name, sentences in sections.items():
        more = (
            {one: _more(row) for one, row in requirements.rows(name).items()} if name in requirements.documents else {}
        )
        implemented = [
            (f"`{one}`", said + more.get(one, ""), "; ".join(_met(one, rows, acceptance)))
            for one, said in sentences.items()
        ]
        parts += [f"\n## {_TITLES.get(name, f'Document {name}')}\n\n"]
        parts += [table(("id", "requirement", "implemented by"), implemented)]
    return "".join(parts)


def _more(row: DocumentRow) -> str:
    """Return the earlier privilege of a row, its note, and its place among several pages."""
    was = f" Before: `{row.was}`." if row.was else ""
    return was + "".join(f" ({text[0].upper()}{text[1:]}.)" for text in (row.note, row.page) if text)


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


def _met(requirement: str, rows: Mapping[str, Mapping[str, list[str]]], acceptance: Mapping[str, Any]) -> Iterator[str]:
    by_profiles: dict[str, list[str]] = {}
    for name, profiles in rows.get(requirement, {}).items():
        by_profiles.setdefault(", ".join(profiles), []).append(name)
    for among, names in by_profiles.items():
        yield f"{', '.join(names)} ({among})"
    for node in acceptance["shown_by"].get(requirement, ()):
        path, _, name = node.partition("::")
        yield f"test `{name}` in `{path}`"
    if remark := acceptance["remarks"].get(requirement):
        yield f"remark: {remark}"
