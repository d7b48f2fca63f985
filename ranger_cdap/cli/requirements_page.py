"""The page `docs/reference/requirements.md`: every id of the requirement documents, and where it is met."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ranger_cdap.cdap.acceptance import load_acceptance
from ranger_cdap.cdap.checks.check_table import Cell, all_cells, cell_of
from ranger_cdap.cdap.profile import load_profile, profile_names
from ranger_cdap.cdap.requirements import CROSS_CUTTING, DISAGREEMENTS, load_requirements

CORE = "core policy"

_HEAD = """\
# Requirements

Made by `ranger-cdap operations requirements`; do not edit.

Five documents say what operations of CDAP need and what their users get. Some are versions of one another, so they
disagree; [one of them decides then](#where-they-disagree). This page has every id with its sentence in plain words, and
where it is met. The data is `ranger_cdap/cdap/requirements.toml`.

An id is `S`, the document and its row or sentence: `S003-namespace-create`, `S003-C1`. `CORE` is a core policy, `P`
prose, `C` a comment, `R` a remark, `G` a general statement; `X-` is what several documents have in common, `D` a
disagreement.

| document | title | what it is | ids |
| --- | --- | --- | --- |
"""

_HOW = """
## How to read where it is met

- A *row* is an operation of a [profile](operations.md); in brackets are the profiles whose row names the id. A *core
  policy* is the rule for entity types and operations without a row. `tests/cdap/test_profile_rows.py` holds for every
  row that exactly its privileges meet it.
- A *test* shows something that is more than a row, as far as that test goes.
- A *remark* requires nothing; it says what was made of it.
- *CDAP 6.11* says for rows whether a real CDAP asks. `asks`: a check of CDAP can stand for the row, by
  `ranger_cdap/cdap/checks/checks.toml`. A check seldom says all that a row does, and lists are asked by the parent, or
  CDAP asks what is visible: [CDAP's own checks](../explanation/cdap-checks.md) lists where CDAP asks for less, or for
  something coarser. `never asks`: only a program that calls `Authorizer` gets the answer of the row.
"""

_COLUMNS = ("id", "what it says", "where it is met", "CDAP 6.11")
_TITLES = {CROSS_CUTTING: "What several documents have in common", DISAGREEMENTS: "Where they disagree"}


def page() -> str:
    """Return the whole page: the documents, how to read the tables, and a table per document."""
    requirements = load_requirements()
    sections = requirements.sections()
    documents = (
        (f"[{number}](#document-{number})", one.title, one.about, str(len(sections[number])))
        for number, one in requirements.documents.items()
    )
    parts = [_HEAD, *_lines(documents), _HOW]
    rows = _rows_by_id()
    for name, sentences in sections.items():
        title = _TITLES.get(name, f"Document {name}")
        parts += [f"\n## {title}\n\n", *_lines([_COLUMNS, ["---"] * len(_COLUMNS)])]
        parts += _lines((f"`{one}`", said, _met(one, rows), _asked(one, rows)) for one, said in sentences.items())
    return "".join(parts)


def _rows_by_id() -> dict[str, dict[str, list[str]]]:
    """Return for each id the rows that name it, each with the profiles that have it so."""
    found: dict[str, dict[str, list[str]]] = {}
    for profile in map(load_profile, profile_names()):
        core = ((f"{CORE} {verb}", row.requirements) for verb, row in profile.core.items())
        rows = ((row.name, row.requirements) for row in profile.rows.values())
        for name, requirements in (*rows, *core):
            for requirement in requirements:
                found.setdefault(requirement, {}).setdefault(name, []).append(profile.name)
    return found


def _met(requirement: str, rows: dict[str, dict[str, list[str]]]) -> str:
    acceptance = load_acceptance()
    by_profiles: dict[str, list[str]] = {}
    for name, profiles in rows.get(requirement, {}).items():
        by_profiles.setdefault(", ".join(profiles), []).append(_in_backticks(name))
    parts = [f"{', '.join(names)} ({profiles})" for profiles, names in by_profiles.items()]
    for node in acceptance.shown_by.get(requirement, ()):
        path, _, name = node.partition("::")
        parts.append(f"test `{name}` in `{path}`")
    if remark := acceptance.remarks.get(requirement):
        parts.append(f"remark: {remark}")
    return "; ".join(parts)


def _asked(requirement: str, rows: dict[str, dict[str, list[str]]]) -> str:
    """Return whether CDAP's own checks stand for the rows of an id."""
    for unasked in load_acceptance().not_enforceable:
        if requirement in unasked.ids:
            return f"cannot be enforced: {unasked.reason}"
    names = [name for name in rows.get(requirement, {}) if not name.startswith(CORE)]
    never = [name for name in names if not _stands_for(name)]
    if len(never) == len(names):
        return "never asks" if names else ""
    if all(name.endswith(".list") for name in names):
        return "asks by the parent, or what is visible"
    return f"asks, but never for {', '.join(map(_in_backticks, never))}" if never else "asks"


def _stands_for(operation: str) -> bool:
    """Whether a check of `checks.toml` can stand for the operation."""
    kind, _, verb = operation.partition(".")
    cells = (cell_of(kind, permission, on_parent=on_parent) for _, permission, on_parent in all_cells())
    return any(cell is not None and verb in _verbs(cell) for cell in cells)


def _verbs(cell: Cell) -> Iterator[str]:
    yield from (*cell.rows, *cell.steps, *cell.strictest, *cell.container)


def _in_backticks(name: str) -> str:
    return f"{CORE} `{name.removeprefix(CORE + ' ')}`" if name.startswith(CORE) else f"`{name}`"


def _lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n"
