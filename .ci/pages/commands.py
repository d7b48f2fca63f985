"""The page `docs/reference/command-line.md`, and one for each section of `--help`, from the commands themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final

import click

from pages import table
from ranger_cdap.cli.command import Described
from ranger_cdap.cli.common_options import COMMON_OPTIONS
from ranger_cdap.cli.exit_codes import MEANINGS
from ranger_cdap.cli.main import SECTIONS, command_line

PROGRAM: Final = "ranger-cdap"

_HEAD = """\
Answers go to standard output, everything else to standard error. Progress is shown on a terminal only. Each command
prints text for people or, with `--json`, one JSON document for programs; its keys are written like `policy_id`,
those of Ranger's own documents as in Ranger. `NO_COLOR` in the environment disables colours. Every command has `-h`.

`_RANGER_CDAP_COMPLETE=bash_source ranger-cdap` prints a script by which bash completes commands, options, operations,
entity types and profiles, for a file `ranger-cdap` in `~/.local/share/bash-completion/completions`; `zsh_source` one
for a file `_ranger-cdap` in a folder of `$fpath`, `fish_source` one for
`~/.config/fish/completions/ranger-cdap.fish`.

An entity is written as its type and its name: `dataset:ns1.purchases`, `program:ns1.app.workflow.W`, `instance:`.
Operations are listed in [operations.md](operations.md), settings in [configuration.md](configuration.md). A FILE of
policies, requests or expectations may be `-` for standard input.
"""


def page() -> str:
    """Return the exit codes, the options of every command, and the sections with their commands."""
    root = command_line()
    exit_codes = [(str(int(code)), meaning) for code, meaning in MEANINGS.items()]
    parts = [_HEAD, "## Exit codes\n", table(("code", "meaning"), exit_codes), "## Options of every command\n"]
    parts += [_options(root, [*root.params, *COMMON_OPTIONS]), _examples(root)]
    pages = [(f"[{title}]({_file(title)}.md)", ", ".join(f"`{name}`" for name in names)) for title, names in SECTIONS]
    return "\n".join([*parts, "## Commands\n", table(("page", "commands"), pages)])


def section_pages() -> dict[str, tuple[str, Callable[[], str]]]:
    """Return, by file, the title of the page of a section, and what follows it: each command with its options."""
    return {_file(title): (f"Commands: {title}", partial(_section_page, names)) for title, names in SECTIONS}


def _file(title: str) -> str:
    return f"command-line-{title.split()[0].lower()}"


def _section_page(wanted: Sequence[str]) -> str:
    found = (_section(words, command) for words, command in commands(command_line()) if words[0] in wanted)
    return "\n".join(chain.from_iterable(found))


def commands(group: click.Group, above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command with its path, the commands of a group after it."""
    for name in group.list_commands(click.Context(group)):
        command = group.commands[name]
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
    own = [*command.params, *getattr(command, "kind_options", ())]
    yield from filter(None, (_options(command, own), _examples(command)))
    if isinstance(command, Described) and command.has_outcome:
        more = [(str(int(code)), text) for code, text in sorted(command.exits.items()) if text != MEANINGS[code]]
        if more:
            yield table(("exit code", "here"), more)


def _text(command: click.Command) -> str:
    """Return the help as Markdown: click's marker for preformatted text becomes a code block."""
    blocks = inspect.cleandoc(command.help or "").split("\n\n")
    return "\n\n".join(
        "```text\n" + block.removeprefix("\b\n") + "\n```" if block.startswith("\b\n") else block for block in blocks
    )


def _options(command: click.Command, params: Sequence[click.Parameter]) -> str:
    own = [param for param in params if isinstance(param, click.Option)]
    with click.Context(command) as context:
        records = [record for option in own if (record := option.get_help_record(context)) is not None]
    return table(("option", "meaning"), [(f"`{names}`", text) for names, text in records]) if records else ""


def _examples(command: click.Command) -> str:
    return (
        ""
        if not isinstance(command, Described) or not command.examples
        else "```sh\n" + "\n".join(command.examples) + "\n```\n"
    )
