"""`ranger-cdap extension`: write the jars for CDAP's master or for Ranger Admin from the installed package."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.disk import os_errors_as, replace_file
from ranger_cdap.errors import ExtensionMissing, InvalidInput
from ranger_cdap.extension import JARS, LOOKUP_JAR, Jar, site_properties
from servicedef import LOOKUP_CLASS, service_definition

FOLDER: Final = f"ews/webapp/WEB-INF/classes/ranger-plugins/{service_definition()['name']}"
"""Where Ranger Admin looks for the jar, below its own folder: in a folder named after the definition."""

_STEPS: Final = (
    f"copy the jar into {FOLDER}/ below the folder of Ranger Admin, readable by its user",
    "run `ranger-cdap setup --lookup`: the definition then names the class of the jar",
    "restart Ranger Admin, which looks for the class once",
    "in Ranger Admin, edit the service: set CDAP URL, user and password, and use Test Connection",
)
_CLIENT_KEY: Final = (
    "The client certificate is of an authority in `service.tls_client_ca`, in PEM form with its chain; its key (PEM, "
    "PKCS#8, not encrypted) belongs to the same user and has the same mode. "
)


@click.command(
    "extension",
    cls=Command,
    examples=(
        "ranger-cdap extension cdap --out /opt/ranger-cdap",
        "ranger-cdap extension ranger --out /opt/ranger/admin/ews/webapp/WEB-INF/classes/ranger-plugins/cdap",
    ),
)
@click.argument("program", type=click.Choice(["cdap", "ranger"]))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    metavar="DIR",
    help="Output folder for the jars.",
)
@pass_invocation
def extension(invocation: Invocation, program: str, out: Path) -> None:
    """Write the jars for CDAP's master or for Ranger Admin into a folder, and print what to do with them.

    CDAP's master uses its jar to call the decision service: copy the jar for your version of CDAP to the same path on
    every master. Ranger Admin uses its jar to suggest CDAP names in the policy editor and to test the connection to
    CDAP. Neither jar needs another.
    """
    if program == "cdap":
        _for_cdap(invocation, out)
    else:
        _for_ranger(invocation, out)


def _for_cdap(invocation: Invocation, out: Path) -> None:
    settings = invocation.settings
    written = [(jar, _written(jar, out)) for jar in JARS]
    if invocation.as_json:
        invocation.print_json(
            [
                {"jar": str(path), "cdap": jar.cdap, "properties": dict(site_properties(jar, str(path), settings))}
                for jar, path in written
            ]
        )
        return
    for jar, path in written:
        invocation.console.print(f"{jar.cdap}: {path}\nin cdap-site.xml:\n")
        for name, value in site_properties(jar, str(path), settings):
            invocation.console.print(f"  <property><name>{name}</name><value>{escape(value)}</value></property>")
        invocation.console.print("")
    invocation.console.print(
        "Each secret file holds one line, the secret of a caller, and is owned by the user of CDAP's master, with mode "
        f"0600. {_CLIENT_KEY if settings.service.tls_client_ca else ''}Then restart CDAP's master."
    )


def _for_ranger(invocation: Invocation, out: Path) -> None:
    path = _written(LOOKUP_JAR, out)
    steps = (f"  {number}. {step}" for number, step in enumerate(_STEPS, 1))
    invocation.show(
        {"jar": str(path), "folder": FOLDER, "class": LOOKUP_CLASS},
        [f"{path}\n\nThen, on every Ranger Admin:\n", *steps],
    )


def _written(jar: Jar, out: Path) -> Path:
    """Write the jar into the folder, which is created if missing, and return its path.

    Raises:
        ExtensionMissing: the package was built without the jars.
        InvalidInput: the folder cannot be written to.
    """
    found = jar.find()
    if found is None:
        raise ExtensionMissing(
            f"this installation has no `{jar.name}`: it was built without the jars; get a wheel that has them, "
            "or run `make extension` (Maven, Java 9 or newer) in the sources and install those"
        )
    path = out / jar.name
    with os_errors_as(InvalidInput, f"`{path}` cannot be written"):
        out.mkdir(parents=True, exist_ok=True)
        replace_file(path, [found.read_bytes()], mode=0o644)  # a Java that has the old one open keeps it
    return path.resolve()
