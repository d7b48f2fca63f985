"""The context of every command: the settings, the output format, and the consoles."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import pluggy
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from ranger_cdap.cli.display import visible
from ranger_cdap.config import DEFAULT_FILE, ENVIRONMENT_PREFIX, Configuration, Settings, read_configuration
from ranger_cdap.plugins.manager import plugin_manager
from ranger_cdap.service.http.json_log import JsonLines, TextLines, log_lines

PIPE_WIDTH = 1000
_WIDEST = 1_000_000
FIRST = 50
"""Rows of each kind that commands print of an answer that grows with the ledger."""


class Invocation:
    """A run of a command; answers go to standard output, everything else to standard error.

    The settings are read from the file `config`, if it is given, and `flags` override some: `table.key=value`.
    """

    def __init__(
        self,
        config: Path | None = None,
        flags: tuple[str, ...] = (),
        *,
        quiet: bool = False,
    ) -> None:
        self.config = config
        self.flags = flags
        self.as_json = self.shows_all = False
        self.has_answered = False
        self.log: dict[str, str] = {}
        # A pipe has no width: output to one must not be wrapped at column 80.
        width = None if sys.stdout.isatty() else PIPE_WIDTH
        self.console = _Visible(soft_wrap=True, highlight=False, markup=False, emoji=False, width=width)
        self.messages = _Visible(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False, quiet=quiet)

    @property
    def quiet(self) -> bool:
        """True if only the answer and errors are printed."""
        return self.messages.quiet

    def start_log(self, level: str = "info") -> None:
        """Log to standard error as the options of the command say, `level` and above by default."""
        form = self.log.get("log_format", "text" if sys.stderr.isatty() else "json")
        level = self.log.get("log_level", "warning" if self.quiet else level)
        log_lines(level, TextLines() if form == "text" else JsonLines())

    @cached_property
    def plugins(self) -> pluggy.PluginManager:
        """The plugins of this invocation.

        Raises:
            PluginError: an installed plugin cannot be loaded.
        """
        return plugin_manager()

    @cached_property
    def configuration(self) -> Configuration:
        """The settings and their origins, read when first needed.

        Raises:
            ConfigError: they are not usable.
        """
        return read_configuration(self.config, flags=self.flags)

    @property
    def missing_file(self) -> str:
        """The remark that nothing configures the settings that were read; empty if something does, or none were."""
        read: Configuration | None = vars(self).get("configuration")
        if read is None or read.origins:
            return ""
        return (
            f"there is no configuration: no `{DEFAULT_FILE}` in `{Path.cwd()}`, no --config and no variable "
            f"{ENVIRONMENT_PREFIX}…, so every setting has its default"
        )

    def note_missing_file(self) -> None:
        """Print the remark, if there is one, before an answer that a person could take for that of another place."""
        if self.missing_file:
            self.messages.print(self.missing_file)

    @property
    def settings(self) -> Settings:
        """The settings.

        Raises:
            ConfigError: they are not usable.
        """
        return self.configuration.settings

    def print_json(self, value: Any) -> None:
        """Print one JSON document to standard output."""
        self.has_answered = True
        json.dump(value, sys.stdout, indent=2, default=str)
        sys.stdout.write("\n")

    def print_json_by_line(self, document: Mapping[str, Any]) -> None:
        """Print one JSON document in which each element of a list, or iterator, has a line of its own."""
        self.has_answered = True
        sys.stdout.write("{")
        for n, (key, value) in enumerate(document.items()):
            sys.stdout.write(f"{',' if n else ''}\n{json.dumps(key)}: ")
            sys.stdout.writelines(_lines(value))
        sys.stdout.write("\n}\n")

    def show(self, document: Any, lines: Iterable[object]) -> None:
        """Print an answer: the document with `--json`, else the lines."""
        if self.as_json:
            self.print_json(document)
        else:
            for line in lines:
                self.console.print(str(line))

    def print_table(self, columns: list[str], rows: list[list[str]]) -> None:
        """Print a table for people, without trailing blanks outside a terminal.

        One that is wider than the terminal is printed as cards, `label: value` by line, so that no name is broken.
        """
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*row)
        if _extent(self.console, table).maximum > self.console.width:
            for line in _cards(columns, rows):
                self.console.print(line)
            return
        if self.console.is_terminal:
            self.console.print(table)
            return
        with self.console.capture() as captured:
            self.console.print(table)
        click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))

    def show_table(self, document: Any, columns: list[str], rows: list[list[str]], otherwise: str = "") -> None:
        """Print an answer: the document with `--json`, else a table; without rows the sentence `otherwise`, if any."""
        if self.as_json or (otherwise and not rows):
            self.show(document, [otherwise])
        else:
            self.print_table(columns, rows)

    def print_first(self, columns: list[str], rows: Iterable[list[str]], kind: str = "") -> int:
        """Print a table of the first rows of each kind, which the first column names, and how many more there are.

        Return the number of all rows; without any it prints nothing.

        Args:
            kind: that of all rows, if the first column names none.
        """
        shown, found = list[list[str]](), Counter[str]()
        for row in rows:
            found[kind or row[0]] += 1
            if self.shows_all or found[kind or row[0]] <= FIRST:
                shown.append(row)
        if shown:
            self.print_table(columns, shown)
        left = [f"{count - FIRST:,} more {name}" for name, count in found.items() if count > FIRST]
        if left and not self.shows_all:
            self.console.print(f"and {', '.join(left)}: `--all` prints them")
        return found.total()

    def warn_of(self, problems: Iterable[object]) -> None:
        """Print problems, like names that are not known; the answer is given all the same."""
        for each in problems:
            self.messages.print(f"warning: {each}")

    def print_tree(self, tree: Tree) -> None:
        """Print a tree for people; on a terminal long lines are wrapped, and no name is broken."""
        width = self.console.width
        self.console.width = max(width, _extent(self.console, tree).minimum)
        self.console.print(tree, soft_wrap=False, crop=False)
        self.console.width = width


def _extent(console: Console, printed: Table | Tree) -> Measurement:
    """Return the columns that it needs so that no word is broken, and those so that no line is wrapped."""
    return Measurement.get(console, console.options.update(width=_WIDEST), printed)


def _cards(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield the rows as lines `label: value`, without empty values, and an empty line between two rows."""
    for number, row in enumerate(rows):
        if number:
            yield ""
        yield from (
            f"{label}: " * bool(label) + value.replace("\n", "\n  ")
            for label, value in zip(columns, row, strict=True)
            if value
        )


def _lines(value: Any) -> Iterator[str]:
    if not isinstance(value, list | Iterator):
        yield json.dumps(value, default=str)
        return
    yield "["
    n = -1
    for n, each in enumerate(value):
        yield f"{',' if n else ''}\n{json.dumps(each, default=str)}"
    yield "]" if n < 0 else "\n]"


class _Visible(Console):
    """Console on which no name can move the cursor, set a title or reorder letters."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)


pass_invocation = click.make_pass_decorator(Invocation, ensure=True)
