"""The page `docs/reference/errors.md`, from the tree of errors."""

from __future__ import annotations

from collections.abc import Iterator

from pages import table
from ranger_cdap.errors import RangerCdapError

_HEAD = """\
A command that fails prints one sentence with the code in brackets: `ranger-cdap: the ledger … (ledger-lost)`. With
`--json` it prints `{"code": …, "message": …}` to standard output as well, unless its answer is there already; these
codes also include `interrupted`, `terminated` and `internal-error`. Codes are stable across versions; sentences may
change. A program that embeds `Authorizer` catches the classes of `ranger_cdap.errors`; `RangerCdapError` is the root of
all. Exit codes are explained in [the command line](command-line.md), checks to make in
[troubleshoot](../how-to/troubleshoot.md).

"""


def page() -> str:
    """Return a row per code."""
    return _HEAD + table(("code", "exit", "what happened", "what to do", "class"), map(_row, kinds()))


def kinds(root: type[RangerCdapError] = RangerCdapError) -> Iterator[type[RangerCdapError]]:
    """Yield the classes with a code of their own, each before its subclasses."""
    if "code" in vars(root):
        yield root
    for below in root.__subclasses__():
        if below.__module__ == RangerCdapError.__module__:
            yield from kinds(below)


def _row(kind: type[RangerCdapError]) -> tuple[str, ...]:
    return f"`{kind.code}`", str(kind.exit_code), kind.__doc__ or "", kind.remedy, f"`{kind.__name__}`"
