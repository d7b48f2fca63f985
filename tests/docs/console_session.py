"""A page as a session at a terminal: its files are written, its commands run in one shell, what they print is kept."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.docs.markdown_pages import Block, blocks

_PROMPT = "$ "
_MARK = "@@after@@"


@dataclass(frozen=True)
class Step:
    """A command and what the page says it prints."""

    block: Block
    command: str
    shown: str


def steps(block: Block) -> Iterator[Step]:
    """The commands of a `console` block."""
    command, shown = None, list[str]()
    for line in [*block.text.splitlines(), _PROMPT]:
        if line.startswith(_PROMPT):
            if command is not None:
                yield Step(block, command, tidy("\n".join(shown)))
            command, shown = line.removeprefix(_PROMPT), []
        else:
            shown.append(line)


def tidy(text: str) -> str:
    """Without the spaces at the ends of lines, which a page does not keep."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def play(page: Path, directory: Path, environ: Mapping[str, str], put: Mapping[str, str]) -> list[tuple[Step, str]]:
    """Run the page from its first command to its last; `put` replaces what only holds on the reader's machine.

    What a command writes to standard error is seen by people and not compared.
    """
    script, taken = ["set -o pipefail"], []

    def adapted(text: str) -> str:
        for old, new in put.items():
            text = text.replace(old, new)
        return text

    for block in blocks(page):
        if block.language == "console":
            for step in steps(block):
                taken.append(step)
                script += [adapted(step.command), f"printf '\\n{_MARK}\\n'"]
        elif block.file:
            body = adapted(block.text)
            script.append(f"cat > {block.file} <<'{_MARK}'\n{body}{_MARK}")  # directories are the page's business
    (directory / "session").write_text("\n".join(script) + "\n")
    ended = subprocess.run(
        ["bash", "session"],
        cwd=directory,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    printed = ended.stdout.split(f"\n{_MARK}\n")
    assert len(printed) == len(taken) + 1, ended.stderr
    back = {new: old for old, new in put.items()}
    return [(step, tidy(_replaced(said, back))) for step, said in zip(taken, printed, strict=False)]


def _replaced(text: str, by: Mapping[str, str]) -> str:
    for old, new in by.items():
        text = text.replace(old, new)
    return text
