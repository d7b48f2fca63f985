"""`ranger-cdap install-units`: write the units for systemd, with the users and directories they need."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Final

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.disk import replace_file
from ranger_cdap.errors import InvalidInput, reason
from ranger_cdap.units import JAVA_HOME, Unit, units

_NEXT: Final = (
    "systemd-sysusers",
    "systemd-tmpfiles --create",
    "systemctl daemon-reload",
    "systemctl enable --now ranger-cdap.service",
    "systemctl enable --now ranger-cdap-sync.service   # after `ranger-cdap sync baseline`",
)


class UnitChange(StrEnum):
    """The change of one file."""

    CREATE = "create"
    REPLACE = "replace"
    KEEP = "unchanged"


@click.command(
    "install-units",
    cls=Command,
    examples=("ranger-cdap install-units --dry-run", "ranger-cdap install-units"),
    exits={
        ExitCode.OK: "the files are there, or with --dry-run would be",
        ExitCode.INVALID_INPUT: "a file was changed by hand, or cannot be written; nothing was done",
    },
)
@click.option("--dry-run", is_flag=True, help="Only show what would be written.")
@click.option("--replace", "may_replace", is_flag=True, help="Replace files that differ, also those changed by hand.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    default=Path("/"),
    show_default=True,
    help="The root of the system, such as the folder in which a package is built.",
)
@click.option(
    "--program", type=click.Path(path_type=Path), metavar="FILE", help="The program they start; default: this one."
)
@pass_invocation
def install_units(
    invocation: Invocation, *, dry_run: bool, may_replace: bool, root: Path, program: Path | None
) -> None:
    """Write the units of the decision service and of the sync job for systemd.

    Nothing is started, and no user is created: what comes next is printed. Your own changes belong into `systemctl
    edit`, which survives the next version.
    """
    java_home = Path(os.environ.get("JAVA_HOME") or JAVA_HOME)
    files = list(units(program or Path(sys.prefix, "bin", "ranger-cdap"), java_home))
    changes = [(_change(root / unit.place, unit), unit) for unit in files]
    if not may_replace and (differing := [unit.place for change, unit in changes if change is UnitChange.REPLACE]):
        names = ", ".join(f"`{root / place}`" for place in differing)
        raise InvalidInput(f"{names} has other content; `--replace` replaces it, `systemctl edit` keeps changes apart")
    if not dry_run:
        for change, unit in changes:
            if change is not UnitChange.KEEP:
                _write(root / unit.place, unit.content)
    if invocation.as_json:
        invocation.print_json([{"file": str(root / unit.place), "change": change} for change, unit in changes])
        return
    for change, unit in changes:
        invocation.console.print(f"{change:<10} {root / unit.place}")
        if dry_run and change is not UnitChange.KEEP:
            invocation.console.print("".join(f"    {line}\n" for line in unit.content.decode().splitlines()))
    invocation.console.print("\nThen, as root:\n" + "".join(f"\n  {step}" for step in _NEXT))


def _change(path: Path, unit: Unit) -> UnitChange:
    try:
        return UnitChange.KEEP if path.read_bytes() == unit.content else UnitChange.REPLACE
    except FileNotFoundError:
        return UnitChange.CREATE
    except OSError as e:
        raise InvalidInput(f"`{path}` cannot be read: {reason(e)}") from None


def _write(path: Path, content: bytes) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, [content], mode=0o644)
    except OSError as e:
        raise InvalidInput(f"`{path}` cannot be written: {reason(e)}") from None
