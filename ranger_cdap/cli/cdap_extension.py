"""`ranger-cdap cdap-extension`: write the jars for CDAP's master from the installed package."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape

import click

from ranger_cdap.cli.command import Command
from ranger_cdap.cli.invocation import Invocation, pass_invocation
from ranger_cdap.cli.jar_files import out_option, write_jar
from ranger_cdap.extension import JARS, site_properties


@click.command(
    "cdap-extension",
    cls=Command,
    examples=("ranger-cdap cdap-extension --out /opt/ranger-cdap",),
)
@out_option("Output folder for the jars.")
@pass_invocation
def cdap_extension(invocation: Invocation, out: Path) -> None:
    """Write the extension jars for CDAP's master into a folder, and print the properties for cdap-site.xml.

    Copy the jar for your version of CDAP to the same path on every master.
    """
    settings = invocation.settings
    written = [(jar, write_jar(jar, out)) for jar in JARS]
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


_CLIENT_KEY = (
    "The client certificate is of an authority in `service.tls_client_ca`, in PEM form with its chain; its key (PEM, "
    "PKCS#8, not encrypted) belongs to the same user and has the same mode. "
)
