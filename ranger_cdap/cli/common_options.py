"""The options that every command has, before the command or after it; declared once."""

from __future__ import annotations

from typing import Any, Final

import click
from click.core import ParameterSource

from ranger_cdap.cli.invocation import FIRST, Invocation
from ranger_cdap.cli.parameters import FILE, SETTING


def _wants_json(context: click.Context, _: click.Parameter, given: bool) -> None:
    context.ensure_object(Invocation).as_json |= given


def _wants_quiet(context: click.Context, _: click.Parameter, given: bool) -> None:
    context.ensure_object(Invocation).messages.quiet |= given


def _wants_all(context: click.Context, _: click.Parameter, given: bool) -> None:
    context.ensure_object(Invocation).shows_all |= given


def _logs(context: click.Context, option: click.Parameter, given: str | None) -> None:
    if given is not None:
        context.ensure_object(Invocation).log[str(option.name)] = given


def _reads_from(context: click.Context, option: click.Parameter, given: Any) -> None:
    """Use a file from the environment only where the whole call begins: one that is named before a command wins."""
    is_named = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    if given is not None and (is_named or context.parent is None):
        context.ensure_object(Invocation).config = given


def _overrides(context: click.Context, _: click.Parameter, given: tuple[str, ...]) -> None:
    context.ensure_object(Invocation).flags += given


ALL: Final = click.Option(
    ["--all"],
    is_flag=True,
    expose_value=False,
    callback=_wants_all,
    help=f"Print everything, not only the first {FIRST} of each kind; JSON always has everything, one per line.",
)
"""Of commands whose answer grows with the ledger."""

LOG_OPTIONS: Final = (
    click.Option(
        ["--log-level"],
        type=click.Choice(["debug", "info", "warning", "error"]),
        expose_value=False,
        callback=_logs,
        help="Log this and what is graver. Default: info; with --quiet, or for a single run, warning.",
    ),
    click.Option(
        ["--log-format"],
        type=click.Choice(["json", "text"]),
        expose_value=False,
        callback=_logs,
        help="A log line has time, level, event and ids. Default: text on a terminal, otherwise json.",
    ),
)
"""Of commands that run on."""

COMMON_OPTIONS: Final = (
    click.Option(
        ["--config"],
        type=FILE,
        metavar="FILE",
        envvar="RANGER_CDAP_CONFIG",
        expose_value=False,
        callback=_reads_from,
        help="Configuration file; default: ranger-cdap.toml in the working directory, if it exists.",
    ),
    click.Option(
        ["--set"],
        type=SETTING,
        multiple=True,
        metavar="TABLE.KEY=VALUE",
        expose_value=False,
        callback=_overrides,
        help="Override a setting. Repeatable.",
    ),
    click.Option(
        ["--json"],
        is_flag=True,
        expose_value=False,
        callback=_wants_json,
        help="Print the answer as one JSON document.",
    ),
    click.Option(
        ["--quiet"],
        is_flag=True,
        expose_value=False,
        callback=_wants_quiet,
        help="Print only the answer and errors: no progress, notes or warnings.",
    ),
)
