"""`ranger-cdap ranger-extension`: write the look-up jar for Ranger Admin from the installed package."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.jar_files import out_option, write_jar
from ranger_cdap.extension import LOOKUP_JAR
from servicedef import LOOKUP_CLASS, service_definition


@click.command(
    "ranger-extension",
    cls=Command,
    examples=(
        "ranger-cdap ranger-extension --out /opt/ranger-cdap",
        "ranger-cdap ranger-extension --out /opt/ranger/admin/ews/webapp/WEB-INF/classes/ranger-plugins/cdap",
    ),
)
@out_option("Output folder for the jar.")
@pass_invocation
def ranger_extension(invocation: Invocation, out: Path) -> None:
    """Write the look-up jar for Ranger Admin into a folder, and print where it goes.

    With the jar, Ranger Admin offers the names of CDAP while a policy is written, and tests the connection to CDAP. It
    needs no other jar.
    """
    path = write_jar(LOOKUP_JAR, out)
    if invocation.as_json:
        invocation.print_json({"jar": str(path), "folder": FOLDER, "class": LOOKUP_CLASS})
        return
    invocation.console.print(f"{path}\n\nThen, on every Ranger Admin:\n")
    for number, step in enumerate(_STEPS, 1):
        invocation.console.print(f"  {number}. {step}")


FOLDER: Final = f"ews/webapp/WEB-INF/classes/ranger-plugins/{service_definition()['name']}"
"""Where Ranger Admin looks for the jar, below its own folder: in a folder named after the definition."""

_STEPS: Final = (
    f"copy the jar into {FOLDER}/ below the folder of Ranger Admin, readable by its user",
    "run `ranger-cdap setup --lookup`: the definition then names the class of the jar",
    "restart Ranger Admin, which looks for the class once",
    "in Ranger Admin, edit the service: set CDAP URL, user and password, and use Test Connection",
)
