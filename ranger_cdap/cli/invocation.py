"""What every command gets: the settings, the output format, and where to print."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from ranger_cdap.config import Configuration, Settings, read_configuration

PIPE_WIDTH = 1000


class Invocation:
    """One call of the command line; answers go to standard output, everything else to standard error."""

    def __init__(self, config: Path | None, output_format: str, flags: Sequence[str] = ()) -> None:
        self._config = config
        self._flags = flags
        self.format = output_format
        # A pipe has no width: what goes through it must not be broken at column 80.
        width = None if sys.stdout.isatty() else PIPE_WIDTH
        self.console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False, width=width)
        self.messages = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, emoji=False)

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

    @property
    def as_json(self) -> bool:
        """Whether the answer is wanted as JSON."""
        return self.format == "json"

    def print_json(self, value: Any) -> None:
        """One JSON document on standard output."""
        json.dump(value, sys.stdout, indent=2, default=str)
        sys.stdout.write("\n")

    def print_table(self, columns: list[str], rows: list[list[str]]) -> None:
        """A table for people; where output is not a terminal, it is as wide as it needs to be."""
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*row)
        self.console.print(table)


pass_invocation = click.make_pass_decorator(Invocation)
