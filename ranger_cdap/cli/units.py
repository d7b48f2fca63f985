"""`ranger-cdap units`: write the units for systemd, with the users and directories they need."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.exit_codes import ExitCode
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.disk import os_errors_as, replace_file
from ranger_cdap.errors import InvalidInput, reason
from ranger_cdap.ranger.changes.step import Step, StepChange
from ranger_cdap.units import JAVA_HOME, Unit, units

_NEXT: Final = (
    "systemd-sysusers",
    "systemd-tmpfiles --create",
    "systemctl daemon-reload",
    "systemctl enable --now ranger-cdap.service",
    "systemctl enable --now ranger-cdap-sync.service   # after `ranger-cdap sync baseline`",
)


@click.command(
    "units",
    cls=Command,
    examples=("ranger-cdap units --dry-run", "ranger-cdap units"),
    exits={
        ExitCode.OK: "the files are in place, or with --dry-run would be",
        ExitCode.INVALID_INPUT: "a file was edited manually or cannot be written; nothing was done",
    },
)
@click.option("--dry-run", is_flag=True, help="Only show what would be written.")
@click.option("--replace", "may_replace", is_flag=True, help="Replace files that differ, even manually edited ones.")
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    default=Path("/"),
    show_default=True,
    help="Root of the target system, for example a package build directory.",
)
@click.option(
    "--program", type=click.Path(path_type=Path), metavar="FILE", help="The program to start; default: this one."
)
@pass_invocation
def units_command(
    invocation: Invocation, *, dry_run: bool, may_replace: bool, root: Path, program: Path | None
) -> None:
    """Write the units of the decision service and of the sync job for systemd.

    Nothing is started and no user is created; the next steps are printed. Put your own changes into `systemctl edit`:
    they are kept on upgrade.
    """
    java_home = Path(os.environ.get("JAVA_HOME") or JAVA_HOME)
    files = list(units(program or Path(sys.prefix, "bin", "ranger-cdap"), java_home))
    steps = [(_step(root / unit.place, unit), unit) for unit in files]
    if not may_replace and (differing := [step.subject for step, _ in steps if step.change is StepChange.UPDATE]):
        names = ", ".join(differing)
        raise InvalidInput(f"{names} has other content; `--replace` replaces it, `systemctl edit` keeps changes apart")
    if not dry_run:
        for step, unit in steps:
            if step.changes:
                _write(Path(step.name), unit.content)
    if invocation.as_json:
        invocation.print_json([{"file": step.name, "change": step.change} for step, _ in steps])
        return
    for step, unit in steps:
        invocation.console.print(str(step))
        if dry_run and step.changes:
            invocation.console.print("".join(f"    {line}\n" for line in unit.content.decode().splitlines()))
    invocation.console.print("\nThen, as root:\n" + "".join(f"\n  {step}" for step in _NEXT))


def _step(path: Path, unit: Unit) -> Step:
    try:
        change = StepChange.KEEP if path.read_bytes() == unit.content else StepChange.UPDATE
    except FileNotFoundError:
        change = StepChange.CREATE
    except OSError as e:
        raise InvalidInput(f"`{path}` cannot be read: {reason(e)}") from None
    return Step(change, "file", str(path))


def _write(path: Path, content: bytes) -> None:
    with os_errors_as(InvalidInput, f"`{path}` cannot be written"):
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, [content], mode=0o644)
