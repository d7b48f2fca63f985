"""`ranger-cdap config`: show every setting with its value and origin."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.config import Secret, Settings

DEFAULT = "default"
_MASK = "*****"


@click.command("config", cls=Command, examples=("ranger-cdap config", "ranger-cdap config --json"))
@pass_invocation
def config_command(invocation: Invocation) -> None:
    """Show every setting with its value (secrets masked) and its origin.

    Precedence: flag (--set), environment variable, configuration file, files of Ranger's Java plugin ([hadoop]),
    default.
    """
    configuration = invocation.configuration
    rows = [
        {"setting": name, "value": value, "origin": configuration.origins.get(name, DEFAULT)}
        for name, value in _values(configuration.settings)
    ]
    not_used = [{"key": key.key, "file": str(key.file), "why": key.why} for key in configuration.not_used]
    if invocation.as_json:
        invocation.print_json({"settings": rows, "not_used": not_used})
        return
    texts = [[row["setting"], msgspec.json.encode(row["value"]).decode(), row["origin"]] for row in rows]
    invocation.print_table(["setting", "value", "comes from"], texts)
    if not_used:
        invocation.console.print()
        invocation.print_table(["not used", "of file", "why"], [list(row.values()) for row in not_used])


def _values(settings: Settings) -> Iterator[tuple[str, Any]]:
    for table in msgspec.structs.fields(Settings):
        plain: dict[str, Any] = msgspec.to_builtins(getattr(settings, table.name), enc_hook=_shown)
        yield from ((f"{table.name}.{key}", value) for key, value in plain.items())


def _shown(value: Any) -> str:
    if isinstance(value, Secret):
        return _MASK if value.is_set else ""
    if isinstance(value, Path):
        return str(value)
    raise NotImplementedError(type(value).__name__)
