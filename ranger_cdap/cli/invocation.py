"""What every command gets: the settings, the output format, and where to print."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import pluggy
from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from ranger_cdap.config import Configuration, Settings, read_configuration
from ranger_cdap.plugins.manager import plugin_manager

PIPE_WIDTH = 1000


class Invocation:
    """One call of the command line; answers go to standard output, everything else to standard error."""

    def __init__(
        self,
        config: Path | None = None,
        flags: Sequence[str] = (),
        *,
        quiet: bool = False,
    ) -> None:
        self._config = config
        self._flags = flags
        self.as_json = False
        # A pipe has no width: what goes through it must not be broken at column 80.
        width = None if sys.stdout.isatty() else PIPE_WIDTH
        self.console = _Visible(soft_wrap=True, highlight=False, markup=False, emoji=False, width=width)
        self.messages = _Visible(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False, quiet=quiet)

    @property
    def quiet(self) -> bool:
        """Whether nothing but the answer and errors is wanted."""
        return self.messages.quiet

    def read_from(self, config: Path | None, flags: Sequence[str]) -> None:
        """Take the settings from this file, and from these flags before all others."""
        self._config = config
        self._flags = flags

    def be_quiet(self) -> None:
        """No progress, notes and warnings from now on."""
        self.messages.quiet = True

    @cached_property
    def plugins(self) -> pluggy.PluginManager:
        """The plugins of this call.

        Raises:
            PluginError: an installed plugin cannot be loaded.
        """
        return plugin_manager()

    @cached_property
    def configuration(self) -> Configuration:
        """The settings and where they come from, read when first needed.

        Raises:
            ConfigError: they are not usable.
        """
        return read_configuration(self._config, flags=self._flags)

    @property
    def settings(self) -> Settings:
        """The settings.

        Raises:
            ConfigError: they are not usable.
        """
        return self.configuration.settings

    def print_json(self, value: Any) -> None:
        """One JSON document on standard output."""
        json.dump(value, sys.stdout, indent=2, default=str)
        sys.stdout.write("\n")

    def print_table(self, columns: list[str], rows: list[list[str]]) -> None:
        """A table for people; away from a terminal it is as wide as it needs to be, and no line ends with blanks."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*row)
        if self.console.is_terminal:
            self.console.print(table)
            return
        with self.console.capture() as captured:
            self.console.print(table)
        click.echo("\n".join(line.rstrip() for line in captured.get().splitlines()))

    def print_tree(self, tree: Tree) -> None:
        """A tree for people; on a terminal its long lines go on below themselves, and none is cut."""
        self.console.print(tree, soft_wrap=False)


def visible(text: str, keep: str = "\n\t") -> str:
    """The text with what a terminal would obey, or show in another order, spelled out: names come from policies."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


class _Visible(Console):
    """A console on which no name can move the cursor, set a title or turn the order of letters."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)


pass_invocation = click.make_pass_decorator(Invocation, ensure=True)
