"""Apache Ranger's own test files (Apache License 2.0): never part of this repository, read where they can be found.

That is the checkout of apache/ranger that RANGER_SOURCE names, or a folder beside the repository with some of them.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

RELEASE = "release-ranger-2.9.0"
"""The tag of apache/ranger that the tests were written against."""

MISSING = f"Ranger's own test files: set RANGER_SOURCE to a checkout of apache/ranger, tag {RELEASE}"
"""Why a test that needs them is skipped."""

_IN_CHECKOUT = Path("agents-common/src/test/resources")
_BESIDE = Path(__file__).parents[2] / "shared" / "reference" / "ranger" / "policyengine"


def checkout() -> Path | None:
    """Return the folder of Ranger's test resources in the checkout; RANGER_SOURCE must name one if it is set."""
    source = os.environ.get("RANGER_SOURCE")
    if not source:
        return None
    folder = Path(source).expanduser() / _IN_CHECKOUT
    if not folder.is_dir():
        raise NotADirectoryError(f"RANGER_SOURCE is {source}, which holds no {_IN_CHECKOUT}")
    return folder


def definitions() -> dict[str, Any]:
    """Return the definitions of services that Ranger ships, by the name of the file; none without a checkout.

    That of tags has no access types of its own.
    """
    root = checkout()
    found = (root.parents[1] / "main/resources/service-defs").glob("*.json") if root else ()
    read = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(found)}
    return {name: definition for name, definition in read.items() if definition["accessTypes"]}


def ranger_file(name: str) -> Path | None:
    """Return a file by its path below Ranger's test resources, None if it is not available."""
    folder = checkout()
    path = folder / name if folder else _BESIDE / Path(name).name
    return path if path.is_file() else None


def ranger_files(folder: str, prefix: str = "") -> list[str]:
    """Return the names of the available JSON files of a folder of Ranger's test resources, as `ranger_file` takes them.

    The folder beside the repository is flat: there the prefix of the file name must tell where a file belongs.
    """
    root = checkout()
    found = (root / folder if root else _BESIDE).glob(f"{prefix}*.json")
    return sorted(f"{folder}/{path.name}" for path in found)


def read_ranger_file(name: str) -> Any:
    """Return the content of an available file; Ranger's files have comments and commas that JSON does not allow."""
    path = ranger_file(name)
    assert path is not None, MISSING
    text = re.sub(r"^\s*#.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return json.loads(re.sub(r",(\s*[}\]])", r"\1", text))
