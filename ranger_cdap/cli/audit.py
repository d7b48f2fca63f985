"""`ranger-cdap audit`: verify the chain of audit records, and learn from them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from ranger_cdap.audit.chain import Link
from ranger_cdap.audit.verify import Break, ChainVerifier, Place, lines_of, rotated_files, verify_lines
from ranger_cdap.cli.command import Command, CommandGroup
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.files import reading
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.parameters import FILE
from ranger_cdap.errors import InvalidInput

_SHOWN: Final = 100
_KEPT: Final = re.compile(r"([1-9][0-9]{0,17}):([0-9a-f]{64})")


@click.group("audit", cls=CommandGroup, examples=("ranger-cdap audit verify",))
def audit_group() -> None:
    """Verify audit records, and learn from them."""


@audit_group.command(
    cls=Command,
    examples=(
        "ranger-cdap audit verify",
        "ranger-cdap audit verify /archive/records.jsonl.2 /archive/records.jsonl.1 /archive/records.jsonl",
    ),
    exits={ExitCode.OK: "the chain is unbroken", ExitCode.NO: "the chain is broken, or there is none"},
)
@click.argument("files", type=FILE, metavar="[FILE]...", nargs=-1)
@click.option(
    "--expect",
    "kept",
    multiple=True,
    metavar="NUMBER:HASH",
    help="A record that must exist, as printed by an earlier run as its last one. Repeatable.",
)
@pass_invocation
@click.pass_context
def verify(context: click.Context, invocation: Invocation, files: tuple[Path, ...], kept: tuple[str, ...]) -> None:
    """Find records that were changed, removed, inserted, repeated or reordered in files written with `audit.chain`.

    FILEs are read in the order given, oldest first; default: `audit.file` and the files it was rotated to.

    The chain has no key. Anyone who can rewrite all files can recompute it, and a missing beginning or end does not
    break it. So keep the number and hash of the last record, which this command prints, out of reach of those who can
    write the files, and pass it with --expect.
    """
    verifier = ChainVerifier([_link(text) for text in kept])
    chosen = files or tuple(rotated_files(invocation.settings.audit.file))
    if not chosen:
        raise InvalidInput(f"`{invocation.settings.audit.file}` does not exist; nothing was audited there")
    with invocation.messages.status("reading audit records"):
        found = _FoundBreaks.of(verify_lines(verifier, _lines(chosen)))
    invocation.show(_document(verifier, found), _texts(verifier, found))
    context.exit(ExitCode.OK if _is_intact(verifier, found) else ExitCode.NO)


@dataclass(slots=True)
class _FoundBreaks:
    """The first breaks, and how many there are in all."""

    shown: list[Break] = field(default_factory=list)
    broken: int = 0
    benign: int = 0

    @classmethod
    def of(cls, breaks: Iterator[Break]) -> _FoundBreaks:
        found = cls()
        for each in breaks:
            found.broken += not each.is_benign
            found.benign += each.is_benign
            if len(found.shown) < _SHOWN:
                found.shown.append(each)
        return found


def _is_intact(verifier: ChainVerifier, found: _FoundBreaks) -> bool:
    """Return whether the chain is unbroken; an empty file is no chain, because removing everything leaves one."""
    return verifier.records > 0 and not found.broken


def _link(text: str) -> Link:
    match = _KEPT.fullmatch(text.strip().lower())
    if match is None:
        raise InvalidInput(
            f"`{text}` is not NUMBER:HASH; copy what `ranger-cdap audit verify` printed as the last record"
        )
    return Link(int(match[1]), match[2])


def _lines(files: tuple[Path, ...]) -> Iterator[tuple[Place, bytes]]:
    with ExitStack() as stack:  # open all files first: they may be rotated while the first is read
        for path, file in [(path, stack.enter_context(reading(path))) for path in files]:
            yield from lines_of(file, str(path))


def _texts(verifier: ChainVerifier, found: _FoundBreaks) -> Iterator[str]:
    yield from (f"{each.place}: {'note: ' if each.is_benign else ''}{each.what}" for each in found.shown)
    if (hidden := found.broken + found.benign - len(found.shown)) > 0:
        yield f"... and {hidden:,} more"
    first, last = verifier.first, verifier.last
    if first is None or last is None:
        yield "no chained records"
        return
    outcome = f"{found.broken:,} breaks" if found.broken else "unbroken"
    yield f"{verifier.records:,} records, {first.number} to {last.number}: {outcome}"
    if first.number > 1:
        yield f"records before {first.number} are not in these files"
    yield f"last record: {last}"


def _document(verifier: ChainVerifier, found: _FoundBreaks) -> dict[str, Any]:
    return {
        "intact": _is_intact(verifier, found),
        "records": verifier.records,
        "first": str(verifier.first) if verifier.first else None,
        "last": str(verifier.last) if verifier.last else None,
        "breaks": found.broken,
        "found": [
            {"file": each.place.file, "line": each.place.line, "what": each.what, "is_benign": each.is_benign}
            for each in found.shown
        ],
    }
