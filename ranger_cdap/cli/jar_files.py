"""Writing the jars of the installed package into a folder, for the commands that hand them out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ranger_cdap.disk import replace_file
from ranger_cdap.errors import ExtensionMissing, InvalidInput, reason
from ranger_cdap.extension import Jar


def out_option(help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the required option `--out DIR`."""
    return click.option(
        "--out", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR", help=help_text
    )


def write_jar(jar: Jar, out: Path) -> Path:
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
    try:
        out.mkdir(parents=True, exist_ok=True)
        replace_file(path, [found.read_bytes()], mode=0o644)  # a Java that has the old one open keeps it
    except OSError as e:
        raise InvalidInput(f"`{path}` cannot be written: {reason(e)}") from None
    return path.resolve()
