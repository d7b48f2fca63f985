"""The units for systemd, with the users and directories they need, and where a system has each file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ranger_cdap.errors import InvalidInput

UNITS: Final = {
    "ranger-cdap.sysusers": Path("etc/sysusers.d/ranger-cdap.conf"),
    "ranger-cdap.tmpfiles": Path("etc/tmpfiles.d/ranger-cdap.conf"),
    "ranger-cdap.service": Path("etc/systemd/system/ranger-cdap.service"),
    "ranger-cdap-sync.service": Path("etc/systemd/system/ranger-cdap-sync.service"),
}
"""The place of each file of this folder below `/`, in the order in which they are used."""

PROGRAM: Final = Path("/opt/ranger-cdap/bin/ranger-cdap")
JAVA_HOME: Final = Path("/usr/lib/jvm/java-17")
"""The program and the Java that the files name, in whose places those of a system are written."""

# Others would need systemd's quotes and escapes.
_PLAIN: Final = re.compile(r"/[A-Za-z0-9/._+-]+")


@dataclass(frozen=True, slots=True)
class Unit:
    """A file as it is written on a system: its place below `/`, and its content."""

    place: Path
    content: bytes


def units(program: Path = PROGRAM, java_home: Path = JAVA_HOME) -> Iterator[Unit]:
    """Yield the files for a system with this program and this Java.

    Raises:
        InvalidInput: a path is not absolute, or has characters that systemd gives a meaning.
    """
    for what, path in (("program", program), ("Java", java_home)):
        if not _PLAIN.fullmatch(str(path)):
            raise InvalidInput(
                f"the {what} `{path}` cannot be named in a unit; install it below a path of plain letters"
            )
    for name, place in UNITS.items():
        text = (Path(__file__).parent / name).read_text(encoding="utf-8")
        text = text.replace(f"ExecStart={PROGRAM} ", f"ExecStart={program} ")
        yield Unit(place, text.replace(f"JAVA_HOME={JAVA_HOME}\n", f"JAVA_HOME={java_home}\n").encode())
