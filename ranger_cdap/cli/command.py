"""The base of all commands: a click command with examples and exit codes as data, and the options of every command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from importlib import import_module
from typing import Any

import click

from ranger_cdap.cli.common_options import ALL, COMMON_OPTIONS, LOG_OPTIONS
from ranger_cdap.cli.exit_codes import MEANINGS, ExitCode

Sections = Sequence[tuple[str, Sequence[str]]]
"""Titles of the help, and the commands below each."""
_ALWAYS = (ExitCode.OK, ExitCode.ERROR, ExitCode.INVALID_INPUT)


class Described(click.Command):
    """Help beyond the options, shown in the reference as well: working examples and exit codes.

    `exits` gives the meaning of an exit code for this command, where that is more specific than the general one. A
    command `answers` unless its output has a format of its own: a page, a script, lines of JSON. One that `grows` has
    `--all`, and one that `runs_on` has the options of its log. A group has no outcome of its own, unless it does
    something without a command.
    """

    def __init__(
        self,
        *args: Any,
        examples: Sequence[str] = (),
        exits: Mapping[ExitCode, str] | None = None,
        answers: bool = True,
        grows: bool = False,
        runs_on: bool = False,
        has_outcome: bool = True,
        **more: Any,
    ) -> None:
        super().__init__(*args, **more)
        self.examples = tuple(examples)
        self.has_outcome = has_outcome
        self.kind_options = [*[ALL] * grows, *LOG_OPTIONS * runs_on]
        self.exits = {code: MEANINGS[code] for code in _ALWAYS} | dict(exits or {})
        self._everywhere = [option for option in COMMON_OPTIONS if answers or option.name != "json"]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters of this command, then those that every command has."""
        return [*super().get_params(ctx), *self._everywhere, *self.kind_options]

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples and, for a command with an outcome of its own, the exit codes."""
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        if self.has_outcome:
            with formatter.section("Exit codes"):
                formatter.write_dl([(str(int(code)), meaning) for code, meaning in sorted(self.exits.items())])


class Command(Described):
    """A command with examples and exit codes."""


class LazyCommands(MutableMapping[str, click.Command]):
    """Commands by name, in order; one given as `module:attribute` is imported when it is first looked up.

    One named `audit report` is added to the group `audit` at that time.
    """

    def __init__(self, commands: Mapping[str, click.Command | str] = {}) -> None:
        self._commands = dict(commands)
        self._below: dict[str, dict[str, str]] = {}

    def __getitem__(self, name: str) -> click.Command:
        found = self._commands[name]
        if isinstance(found, str):
            module, _, attribute = found.partition(":")
            command: click.Command = getattr(import_module(module), attribute)
            self._commands[name] = found = command
        if name in self._below and isinstance(found, click.Group):
            add_lazily(found, self._below.pop(name))
        return found

    def __setitem__(self, name: str, command: click.Command | str) -> None:
        group, _, below = name.partition(" ")
        if below and isinstance(command, str):
            self._below.setdefault(group, {})[below] = command
        else:
            self._commands[name] = command

    def __delitem__(self, name: str) -> None:
        del self._commands[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._commands)

    def __len__(self) -> int:
        return len(self._commands)


def add_lazily(group: click.Group, commands: Mapping[str, str]) -> None:
    """Add commands, given as `module:attribute`, to a group; they are imported when they are used or listed."""
    if not isinstance(group.commands, LazyCommands):
        group.commands = LazyCommands(group.commands)
    for name, place in commands.items():
        group.commands[name] = place


class CommandGroup(Described, click.Group):
    """A group of commands; those defined in it have examples and exit codes as well."""

    command_class = Command

    def __init__(self, *args: Any, sections: Sections = (), **more: Any) -> None:
        does = bool(more.get("invoke_without_command"))
        super().__init__(*args, **{"answers": does, "has_outcome": does, **more})
        self.sections = sections
        self.last_section = "More" if sections else "Commands"

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order in which a user needs them: by section, then the others."""
        groups = (*(names for _, names in self.sections), self.commands)
        return list(dict.fromkeys(name for names in groups for name in names if name in self.commands))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List each command with the first clause of its help, uncut, by section; the last one has all others."""
        rows = {name: _first_clause(command) for name, command in self.commands.items() if not command.hidden}
        sections = {title: [(name, rows.pop(name)) for name in names if name in rows] for title, names in self.sections}
        for title, listed in {**sections, self.last_section: list(rows.items())}.items():
            if listed:
                with formatter.section(title):
                    formatter.write_dl(listed)


def _first_clause(command: click.Command) -> str:
    """Return `Show the plan` for `Show the plan; nothing is done.`."""
    text = " ".join((command.help or "").partition("\n\n")[0].split())
    return re.split(r"[.;:](?:\s|$)", text, maxsplit=1)[0]
