"""What tests read of the project's Markdown: headings with their anchors, links, and fenced blocks."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NAMED = re.compile(r"`([\w./-]+)`:\n\n$")


@dataclass(frozen=True)
class Block:
    """A fenced block; `file` is what the line before it says it is: "`settings.toml`:"."""

    page: Path
    line: int
    language: str
    text: str
    file: str | None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@cache
def pages() -> tuple[Path, ...]:
    """Every Markdown file of the project: those under version control, and those about to be."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    named = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return tuple(sorted(ROOT / name for name in set(named) if (ROOT / name).is_file()))


@cache
def tracked() -> frozenset[str]:
    """Every file under version control, or about to be, and every folder of such."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    named = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    files = {Path(name) for name in named if (ROOT / name).exists()}
    return frozenset(str(path) for file in files for path in (file, *file.parents[:-1]))


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@cache
def prose_of(page: Path) -> str:
    """The page without its fenced blocks."""
    return _FENCE.sub("", text_of(page))


def blocks(page: Path, *languages: str) -> list[Block]:
    text = text_of(page)
    return [
        Block(
            page,
            text.count("\n", 0, found.start()) + 1,
            found[1],
            found[2],
            named[1] if (named := _NAMED.search(text, 0, found.start())) else None,
        )
        for found in _FENCE.finditer(text)
        if not languages or found[1] in languages
    ]


def links(page: Path) -> list[str]:
    """The targets of all links, without those into the web."""
    targets = re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose_of(page)))
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(page: Path) -> set[str]:
    """What can stand behind the `#` of a link to the page, by the rules of the usual renderers."""
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6} (.+)$", prose_of(page), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")
        count = sum(1 for other in found if other == slug or re.fullmatch(re.escape(slug) + r"-\d+", other))
        found.add(f"{slug}-{count}" if count else slug)
    return found
