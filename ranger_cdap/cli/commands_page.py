"""The page `docs/reference/command-line.md`: every command, made from the commands themselves."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import click

from ranger_cdap.cli.command import Described
from ranger_cdap.cli.exit_codes import MEANINGS

PROGRAM: Final = "ranger-cdap"

_HEAD = """\
# The command line

Made by `ranger-cdap reference`; do not edit.

Answers go to standard output, everything else to standard error. Progress is shown on a terminal only. Each command
prints a text for people or, with `--json`, one JSON document for programs; names in it are written like `policy_id`,
those of Ranger's own documents as Ranger writes them. `NO_COLOR` in the environment turns colours off. `-h` and
`--quiet` go with every command. `ranger-cdap completion bash` (or `zsh`, `fish`) makes the shell complete them.

An entity is written as its type and its name: `dataset:ns1.purchases`, `program:ns1.app.workflow.W`, `instance:`.
Operations are those of [operations.md](operations.md), settings those of [configuration.md](configuration.md). Of
policies, requests and expectations a FILE may be `-`, which is standard input.
"""


def page(root: click.Group) -> str:
    """The whole page."""
    parts = [_HEAD, "## Exit codes\n", _table(("code", "meaning"), _exit_codes()), "## Before every command\n"]
    parts += [_options(root, shared=()), _examples(root)]
    parts += [section for names, command in commands(root) for section in _section(names, command)]
    return "\n".join(parts)


def commands(group: click.Group, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command by its words, those of a group behind it."""
    for name, command in group.commands.items():
        words = (*above, name)
        yield words, command
        if isinstance(command, click.Group):
            yield from commands(command, words)


def _section(words: tuple[str, ...], command: click.Command) -> Iterator[str]:
    name = " ".join((PROGRAM, *words))
    with click.Context(command, info_name=name) as context:
        usage = " ".join(command.collect_usage_pieces(context))
    yield f"## `{name}`\n"
    yield f"```text\n{name} {usage}\n```\n"
    yield _text(command) + "\n"
    yield from filter(None, (_options(command), _examples(command)))
    if isinstance(command, Described) and command.has_outcome:
        more = [(str(int(code)), text) for code, text in sorted(command.exits.items()) if text != MEANINGS[code]]
        if more:
            yield _table(("exit code", "here"), more)


def _text(command: click.Command) -> str:
    """The help, its code marked as code: click's sign for what keeps its lines makes a block."""
    blocks = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(
        "```text\n" + block.removeprefix("\b\n") + "\n```" if block.startswith("\b\n") else block for block in blocks
    )


def _options(command: click.Command, shared: Sequence[str] = ("quiet",)) -> str:
    own = [param for param in command.params if isinstance(param, click.Option) and param.name not in shared]
    with click.Context(command) as context:
        records = [record for option in own if (record := option.get_help_record(context)) is not None]
    return _table(("option", "meaning"), [(f"`{names}`", text) for names, text in records]) if records else ""


def _examples(command: click.Command) -> str:
    if not isinstance(command, Described) or not command.examples:
        return ""
    return "```sh\n" + "\n".join(command.examples) + "\n```\n"


def _exit_codes() -> list[tuple[str, str]]:
    return [(str(int(code)), meaning) for code, meaning in MEANINGS.items()]


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    cells = [
        columns,
        ["---"] * len(columns),
        *([re.sub(r"\s+", " ", c).replace("|", "\\|") for c in row] for row in rows),
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in cells)
