"""`ranger-cdap errors`: the page `docs/reference/errors.md`, made from the tree of errors."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.errors import RangerCdapError

_HEAD = """\
# Errors

Made by `ranger-cdap errors`; do not edit.

A command that fails says one sentence and, in brackets, the code: `ranger-cdap: the ledger … (ledger-lost)`. Codes stay
the same from version to version; sentences may get better. A program that embeds `Authorizer` catches the classes of
`ranger_cdap.errors`: a class catches those below it, `RangerCdapError` all. What each exit code means stands in
[the command line](command-line.md), what to look at in [the page on trouble](../how-to/troubleshoot.md).

| code | exit | what happened | what to do | class |
| --- | --- | --- | --- | --- |
"""


@click.command(cls=Command, answers=False, examples=("ranger-cdap errors",))
def errors() -> None:
    """Print all errors there are, with code, meaning and what to do, as Markdown."""
    click.echo(page(), nl=False)


def page() -> str:
    """The whole page."""
    return _HEAD + "".join(map(_row, kinds()))


def kinds(root: type[RangerCdapError] = RangerCdapError) -> Iterator[type[RangerCdapError]]:
    """The classes with a code of their own, each before those below it."""
    if "code" in vars(root):
        yield root
    for below in root.__subclasses__():
        if below.__module__ == RangerCdapError.__module__:
            yield from kinds(below)


def _row(kind: type[RangerCdapError]) -> str:
    cells = (
        f"`{kind.code}`",
        str(kind.exit_code),
        inspect.cleandoc(kind.__doc__ or ""),
        kind.remedy,
        f"`{kind.__name__}`",
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"
