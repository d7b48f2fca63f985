"""What stands in fenced blocks is so: settings load, JSON can be read, Python is Python, commands exist."""

from __future__ import annotations

import ast
import importlib
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ranger_cdap.cli.main import command_line
from ranger_cdap.config import parse_settings
from tests.docs.markdown_pages import ROOT, Block, blocks, pages, prose_of

# What is about other programs, and the formats of records, stand in blocks of these languages and in no other.
_OTHERS = {"", "text", "console", "sql", "xml", "ini", "yaml", "jsonl", "diff", "mermaid"}
COMMAND_LINE = command_line()


def blocks_in(*languages: str) -> list[Block]:
    return [block for page in pages() for block in blocks(page, *languages)]


def test_every_block_says_what_it_is() -> None:
    known = _OTHERS | {"sh", "python", "pycon", "toml", "json", "java"}
    assert [str(block) for block in blocks_in() if block.language not in known] == []


def of_entity_page(block: Block) -> bool:
    """That page changes our own tables; `test_entity_type_page.py` does what it says."""
    return block.page.name == "add-an-entity-type.md"


@pytest.mark.parametrize("block", [b for b in blocks_in("toml") if not of_entity_page(b)], ids=str)
def test_settings_are_accepted(block: Block, tmp_path: Path) -> None:
    """With the files of the reader's machine in a directory of ours, and a variable for each `env:`."""
    secret = tmp_path / "secret"
    secret.write_text("a-secret-of-32-characters-at-all")
    secret.chmod(0o600)
    text = re.sub(r'"file:[^"]+"', f'"file:{secret}"', block.text)
    environ = dict.fromkeys(re.findall(r'"env:(\w+)"', text), "a-secret-of-the-environment")

    parse_settings(tomllib.loads(text), origin=str(block), environ=environ)


@pytest.mark.parametrize("block", blocks_in("json"), ids=str)
def test_json_can_be_read(block: Block) -> None:
    """One document, or a document a line."""
    try:
        json.loads(block.text)
    except ValueError:
        for line in block.text.splitlines():
            json.loads(line)


@pytest.mark.parametrize("block", blocks_in("jsonl"), ids=str)
def test_json_lines_can_be_read(block: Block) -> None:
    assert [json.loads(line) for line in block.text.splitlines()]


@pytest.mark.parametrize("block", blocks_in("python"), ids=str)
def test_python_is_python_and_imports_what_there_is(block: Block) -> None:
    """That the README's example does what it says, `tests/docs/test_readme.py` shows."""
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(("ranger_cdap", "spark_sync")):
            module = importlib.import_module(str(node.module))
            assert [name.name for name in node.names if not hasattr(module, name.name)] == []


def commands_of(block: Block) -> Iterator[str]:
    """The shell's lines; in a session, those that are typed; of a unit, what it starts."""
    joined = block.text.replace("\\\n", " ")
    for line in joined.splitlines():
        if block.language == "console":
            if not line.startswith("$ "):
                continue
            line = line[2:]
        if block.language == "ini":
            if not line.startswith("ExecStart="):
                continue
            line = line.removeprefix("ExecStart=")
        yield line


def ours(line: str) -> Iterator[list[str]]:
    """The arguments of each call of `ranger-cdap` in a line."""
    for part in re.split(r"\s*(?:&&|\|\||[|;&])\s*", line):
        words = shlex.split(re.sub(r"\s\d?[<>]+\s*\S+", "", part), comments=True)
        programs = [n for n, word in enumerate(words) if Path(word).name == "ranger-cdap"]
        if programs and words[programs[0] + 1 :]:
            yield words[programs[0] + 1 :]


def parsed(arguments: list[str]) -> click.Context:
    """The context of the command, as far as click gets without doing anything."""
    context = COMMAND_LINE.make_context("ranger-cdap", list(arguments))
    while isinstance(context.command, click.Group):
        rest = [*context._protected_args, *context.args]
        if not rest:
            return context
        name, command, rest = context.command.resolve_command(context, rest)
        assert command is not None
        context = command.make_context(name, rest, parent=context)
    return context


CALLS = [
    pytest.param(call, id=f"{block}: {shlex.join(call)}")
    for block in blocks_in("sh", "console", "ini")
    for line in commands_of(block)
    if "ranger-cdap" in line and not of_entity_page(block)
    for call in ours(line)
]


@pytest.mark.parametrize("call", CALLS)
def test_every_command_can_be_parsed(call: list[str]) -> None:
    parsed(call)


@pytest.mark.parametrize("call", CALLS)
def test_pages_call_an_option_by_its_first_name(call: list[str]) -> None:
    """An option may have an older name as well; who learns from a page learns the one that `--help` begins with."""
    options = [param for param in parsed(call).command.params if isinstance(param, click.Option)]
    older = {name for option in options for name in option.opts[1:] if name.startswith("--")}
    assert older.isdisjoint(call)


def test_there_are_commands_to_look_at() -> None:
    assert len(CALLS) > 40


@pytest.mark.parametrize("line", ["ranger-cdap chek alice dataset.get dataset:ns1.a", "ranger-cdap sync run --onse"])
def test_a_misspelt_command_would_be_found(line: str) -> None:
    (call,) = ours(line)
    with pytest.raises(click.UsageError):
        parsed(call)


def named_in_prose() -> list[tuple[str, str]]:
    return [
        (str(page.relative_to(ROOT)), call)
        for page in pages()
        for call in re.findall(r"`ranger-cdap ([a-z][^`\n]*)`", prose_of(page))
    ]


def test_every_command_named_in_prose_exists() -> None:
    """Of these only the words are looked at: what follows is often a pattern."""
    lost = []
    for page, call in named_in_prose():
        command: click.Command = COMMAND_LINE
        for word in call.split():
            if not isinstance(command, click.Group) or not re.fullmatch(r"[a-z][a-z-]*", word):
                break
            found = command.commands.get(word)
            if found is None:
                lost.append((page, call))
                break
            command = found
    assert lost == []
