"""What texts of this repository cite of it: pages, sections of pages, paths, and tests by name.

The law: whatever a comment, a docstring or a page cites is in the repository. A citation is written in one of these
forms; `page.md` is a page's file name or its path.

- `page.md §3.2`, and after a page `§3.2` alone: a heading that begins with that number
- `architecture.md, decision 8`: the same, under the heading of decisions
- `page.md#anchor`
- `page.md, "Heading"`
- a path that begins with a folder of the repository, in backticks; `tests/x/test_y.py::test_z` names a test in it
"""

from __future__ import annotations

import ast
import fnmatch
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.docs.markdown_pages import ROOT, anchors, pages, prose_of, text_of, tracked

# What a command makes for one machine alone.
MADE = ("docker/secrets", "jvm/*/target*")

_PAGE = re.compile(
    r"(?<![\w/.*<{\]-])(?P<page>(?:[\w.-]+/|\.\./)*[\w-]+\.md)(?![\w*])(?:#(?P<anchor>[\w-]+))?`?"
    r'(?:,? decision (?P<decision>\d+)|, "(?P<heading>[^"\n]+)")?'
    r"(?P<sections>(?:(?:,| and|, and)? ?§ ?\d+(?:\.\d+)*)+)?"
)
_SECTION = re.compile(r"§ ?(\d+(?:\.\d+)*)")
_PATH = re.compile(r"(?<!`)`([A-Za-z_][\w.-]*/[^`\s]*)`(?!`)")

# What stood beside the repository once, and is cited by its pages now.
_OUTSIDE = re.compile(
    r"policy-engine\.md|(?<![\w-])admin\.md|(?<![\w-])cdap\.md|authorization\.md|feasibility\.md|fast-engine"
    r"|(?<![\w\"/])shared/|\breference[ /](?:ranger|cdap|spark|seeds)/"
    r"|\breference: |operations\.yaml|\bsource: design\b|\(design\b|\bdesign (?:section )?\d|\bdesign[,:]"
    r"|\b(?:the|first|our) design (?:says|names|named|let|wants|asks)",
    re.IGNORECASE,
)
_FACTS = re.compile(r"CDAP facts")


@dataclass(frozen=True)
class Passage:
    """A text that may cite something, and where it stands."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@cache
def passages(path: Path) -> tuple[Passage, ...]:
    """The texts of a file: of Python its comments and docstrings, of pages everything but blocks, else all of it.

    Python without anything that looks like a citation has none: to find its comments would take ten times longer.
    """
    name = str(path.relative_to(ROOT))
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        may_cite = any(form.search(text) for form in (_PAGE, _PATH, _OUTSIDE, _FACTS))
        return tuple(_of_python(name, text)) if may_cite else ()
    return (Passage(name, 1, prose_of(path) if path.suffix == ".md" else text),)


def lost(passage: Passage) -> list[str]:
    """Everything that the passage cites and the repository does not have."""
    text = re.sub(r"\s*\n[ \t]*(?:#|\*|//)?[ \t]*(?=§)", " ", passage.text)
    found = [_without(page) for page in _PAGE.finditer(text)]
    found += [_missing_path(path) for path in _PATH.findall(text)]
    if passage.file.endswith(".md"):
        page = ROOT / passage.file
        own = re.sub(_PAGE, "", re.sub(r"\]\([^)]*\)", "", text))
        found += [f"§{section}" for section in _SECTION.findall(own) if not _has_section(page, section)]
    return [what for what in found if what]


def outside(passage: Passage) -> list[str]:
    """Words by which texts once cited what stands beside the repository."""
    found = [match[0] for match in _OUTSIDE.finditer(passage.text)]
    return found + ([] if passage.file.endswith(".md") else _FACTS.findall(passage.text))


@cache
def files() -> tuple[Path, ...]:
    """Every text file of ours; recorded data, licences and lock files have been written by others."""
    suffixes = {".py", ".toml", ".json", ".java", ".md", ".cfg", ".yaml", ".yml", ".xml", ".sh", ".properties"}
    left_out = ("tests/data/*", "tests/service/data/*", ".ci/*.lock", "CHANGELOG.md")
    named = sorted(name for name in tracked() if not any(fnmatch.fnmatch(name, pattern) for pattern in left_out))
    return tuple(ROOT / name for name in named if (ROOT / name).is_file() and Path(name).suffix in suffixes)


def _of_python(name: str, text: str) -> Iterator[Passage]:
    comments: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, said = token.start[0], token.string.lstrip("#! ")
            if comments and comments[-1][0] + comments[-1][1].count("\n") + 1 == line:
                comments[-1] = (comments[-1][0], f"{comments[-1][1]}\n{said}")
            else:
                comments.append((line, said))
    yield from (Passage(name, line, said) for line, said in comments)
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(said))):
                yield Passage(name, node.lineno, said)


def _without(match: re.Match[str]) -> str:
    """The citation, if the repository does not have the page or what is cited of it."""
    page = _page_named(match["page"])
    if page is None:
        return match[0].strip()
    wanted = [
        not match["anchor"] or match["anchor"] in anchors(page),
        not match["decision"] or _has_section(page, match["decision"]),
        not match["heading"] or match["heading"] in _headings(page),
        all(_has_section(page, section) for section in _SECTION.findall(match["sections"] or "")),
    ]
    return "" if all(wanted) else match[0].strip()


@cache
def _page_named(name: str) -> Path | None:
    """The page of that name or path; a path may begin anywhere, as links do."""
    parts = tuple(part for part in name.split("/") if part not in ("..", "."))
    return next((page for page in pages() if page.relative_to(ROOT).parts[-len(parts) :] == parts), None)


@cache
def _headings(page: Path) -> tuple[str, ...]:
    return tuple(re.findall(r"^#{1,6} (.+)$", prose_of(page), re.MULTILINE))


def _has_section(page: Path, number: str) -> bool:
    return any(re.match(rf"{re.escape(number)}\.?(?: |$)", heading) for heading in _headings(page))


@cache
def _folders() -> frozenset[str]:
    """The folders of the repository itself."""
    return frozenset(one.split("/")[0] for one in tracked())


@cache
def _missing_path(cited: str) -> str:
    """The path, if it begins with a folder of ours and is not there, or lacks the test it names."""
    path, _, name = cited.partition("::")
    if path.split("/")[0] not in _folders() or any(mark in path for mark in "<>{}…$"):
        return ""
    made = any(fnmatch.fnmatch(path, pattern) for pattern in MADE)
    path = path.rstrip("/")
    if not made and path not in tracked() and not fnmatch.filter(tracked(), path):
        return cited
    return "" if not name or f"def {name.partition('[')[0]}(" in text_of(ROOT / path) else cited
