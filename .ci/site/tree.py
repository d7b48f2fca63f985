"""The site is the tree: each document is a page at its own path, and so is each file that a document links to.

A hook of MkDocs. The navigation is that of `docs/README.md`: its headings are the tabs, a line that ends in a colon is
a group, and each link in a list is a page.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).resolve().parents[2]
INDEX: Final = Path("docs/README.md")
_QUESTIONS: Final = "docs/how-to/twenty-questions.md"
# A fenced block, code in a line, or a link.
_CODE_OR_LINK: Final = re.compile(
    r"^```.*?^```$|(?<!`)(?P<ticks>`+)(?!`)(?:(?!\n\n).)*?(?<!`)(?P=ticks)(?!`)|\]\((?P<target>[^)\s]+)\)",
    re.MULTILINE | re.DOTALL,
)


def on_config(config: MkDocsConfig) -> None:
    """Take the navigation from the index of the documents."""
    config.nav = navigation((ROOT / INDEX).read_text(encoding="utf-8"))


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace what MkDocs found by the documents and what they link to."""
    theme = [file for file in files if file.src_dir != config.docs_dir]
    return Files([*theme, *_scripts(config), *(_file(path, config) for path in sorted(linked_from(documents())))])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to the pages of what they name."""
    here = PurePosixPath(page.file.src_uri)
    if page.file.src_uri == _QUESTIONS:  # short answers come before the pages that have more
        page.meta["search"] = {"boost": 1_000}

    def rewritten(found: re.Match[str]) -> str:
        if not found["target"]:
            # In a table the other readers of Markdown take the backslash off, even in code.
            row = markdown.startswith("|", markdown.rfind("\n", 0, found.start()) + 1)
            return found[0].replace(r"\|", "|") if row and found["ticks"] else found[0]
        target = _target(Path(here), found["target"])
        if not target:
            return found[0]
        _, anchor, fragment = found["target"].partition("#")
        return f"]({os.path.relpath(uri(target), here.parent)}{anchor}{fragment})"

    return _CODE_OR_LINK.sub(rewritten, markdown)


def navigation(index: str) -> list[Any]:
    """Return MkDocs' navigation: each document once, below the first heading and group that name it."""
    tabs: list[Any] = [{"Home": [{"ranger-cdap": "README.md"}, {"All documents": INDEX.as_posix()}]}]
    seen: set[str] = set()
    for heading, body in re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", index, re.MULTILINE | re.DOTALL):
        tab: list[Any] = []
        group = tab
        for line in body.splitlines():
            if named := re.fullmatch(r"(\w[\w ]*):", line):
                group = []
                tab.append({named[1]: group})
                continue
            for title, target in re.findall(r"\[([^]]+)\]\(([^)#\s]+\.md)\)", line):
                name = os.path.normpath(INDEX.parent / target)
                if name.startswith("docs/") and name not in seen:
                    seen.add(name)
                    group.append({title[:1].upper() + title[1:]: name})
        tabs.append({heading: tab})
    project = sorted(path.name for path in documents() if len(path.parts) == 1 and path.name != "README.md")
    return [*tabs, {"Project": project}]


def documents() -> set[Path]:
    """Return the documents, by their paths in the tree: those of its root and of `docs`."""
    return {path for path in tree() if path.suffix == ".md" and (len(path.parts) == 1 or path.parts[0] == "docs")}


def linked_from(pages: set[Path]) -> set[Path]:
    """Return these files and folders, and all that can be reached from them by links."""
    reached, waiting = set(pages), list(pages)
    while waiting:
        for path in set(_linked(waiting.pop())) - reached:
            reached.add(path)
            waiting.append(path)
    return reached


def uri(path: Path) -> str:
    """Return where the site has the page of a file or folder; no folder of the site is a hidden one."""
    shown = "/".join(part.lstrip(".") for part in path.parts)
    return (
        f"{shown}/README.md" if (ROOT / path).is_dir() else shown if path.suffix in {".md", ".png"} else f"{shown}.md"
    )


def _linked(path: Path) -> Iterator[Path]:
    if (ROOT / path).is_dir():
        yield from _files_of(path)
    elif path.suffix == ".md":
        text = (ROOT / path).read_text(encoding="utf-8")
        targets = [found["target"] for found in _CODE_OR_LINK.finditer(text) if found["target"]]
        yield from filter(None, (_target(path, target) for target in targets))


def _target(page: Path, link: str) -> Path | None:
    """Return what a link of a page names in the tree; nothing if it leads out of it or to the page itself."""
    name = link.partition("#")[0]
    if not name or re.match(r"[a-z]+:", link):
        return None
    path = Path(os.path.normpath(page.parent / name))
    return path if path in tree() else None


@cache
def tree() -> frozenset[Path]:
    """Return what is under version control, or about to be, and the folders of it: nothing else may become public."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    named = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()  # noqa: S603
    files = {Path(name) for name in named if (ROOT / name).resolve() == ROOT / name}
    return frozenset(path for file in files for path in (file, *file.parents[:-1]))


def _files_of(folder: Path) -> list[Path]:
    return sorted(path for path in tree() if folder in path.parents and (ROOT / path).is_file())


def _file(path: Path, config: MkDocsConfig) -> File:
    whole = ROOT / path
    if path.suffix in {".md", ".png"}:
        # The navigation must have every document; the other pages are found by the links to them.
        level = InclusionLevel.INCLUDED if path in documents() else InclusionLevel.NOT_IN_NAV
        return File.generated(config, path.as_posix(), abs_src_path=str(whole), inclusion=level)
    text = _listing(path) if whole.is_dir() else _source(path)
    return File.generated(config, uri(path), content=text, inclusion=InclusionLevel.NOT_IN_NAV)


def _listing(folder: Path) -> str:
    here = PurePosixPath(uri(folder)).parent
    names = [f"- [{path.relative_to(folder)}]({os.path.relpath(uri(path), here)})" for path in _files_of(folder)]
    return "\n".join([f"# {folder}", "", *names, ""])


def _source(path: Path) -> str:
    text = (ROOT / path).read_text(encoding="utf-8")
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    language = {".service": "ini", "": "text"}.get(path.suffix, path.suffix[1:])
    return f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n{fence}{language}\n{text.rstrip()}\n{fence}\n"


def _scripts(config: MkDocsConfig) -> Iterator[File]:
    directory = Path(config.config_file_path).parent / config.extra["scripts"]
    for script in sorted(directory.glob("*.js")):
        yield File.generated(config, f"assets/scripts/{script.name}", abs_src_path=str(script))
