"""The licences of what we depend on: `licences.py` writes THIRD-PARTY.md, `licences.py --check` compares.

It ends with 1 if a package of the environment it runs in has a licence that is not on the list, or says none.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, metadata, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from pages import table

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "THIRD-PARTY.md"
LOCK = ROOT / ".ci" / "requirements.lock"
OURS = "ranger-cdap"
BASE = ""
# What is listed is what the oldest Python installs, whichever this is.
PYTHON = {"python_version": "3.11", "python_full_version": "3.11.0"}

# Licences whose terms fit ours: permissive ones, and MPL-2.0 for what is used unchanged.
ALLOWED = frozenset(
    ("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Unlicense")
)
# Under the LGPL, imported unchanged: only by the choice of who installs the extra, and in no image.
BY_CHOICE = {"ldap3": "LGPL-3.0-only"}
# Says it in its file LICENSE only.
UNSAID = {"promql-parser": "MIT", "quickjs-ng": "MIT"}
# What packages write instead of an SPDX expression.
SPELLINGS = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache LICENSE 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 2-Clause License": "BSD-2-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "LGPL v3": "LGPL-3.0-only",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "PSFL": "PSF-2.0",
}
# Not in every environment: compiled against Kerberos's headers where it is installed.
ELSEWHERE = {"requests-gssapi": "ISC"}

HEAD = """# What we depend on, and its licences

Made by `make licences` from what the packages say of themselves. None of it is part of our wheel: an installation
fetches it. The image for the sync job also has a Java runtime (GPL-2.0 with the Classpath Exception).

"""


def licence(package: str) -> str:
    """The SPDX expression of a package, or as near to it as its metadata come."""
    if known := (ELSEWHERE | UNSAID).get(package):
        return known
    said = metadata(package)
    classifiers = [text.rpartition(" :: ")[2] for text in said.get_all("Classifier", []) if "License ::" in text]
    short = [text for text in (said.get("License-Expression"), said.get("License")) if text and "\n" not in text]
    return next((SPELLINGS.get(text, text) for text in (*short, *classifiers)), "none")


def is_allowed(expression: str) -> bool:
    """Every part of it that we cannot choose against is on the list."""
    return any(
        all(part.strip(" ()") in ALLOWED for part in choice.split(" AND ")) for choice in expression.split(" OR ")
    )


def brought_by(package: str, extra: str) -> Iterator[str]:
    """What the package asks for because of that extra, or without any."""
    for text in requires(package) or ():
        wanted = Requirement(text)
        if wanted.marker is None:
            counts = extra == BASE
        else:
            counts = wanted.marker.evaluate(PYTHON | {"extra": extra}) and not (
                extra and wanted.marker.evaluate(PYTHON | {"extra": ""})
            )
        if counts:
            name = canonicalize_name(wanted.name)
            yield name
            for inner in wanted.extras:
                yield from brought_by(name, inner)


def closure(extra: str) -> set[str]:
    """Everything that an installation with that extra has, besides us."""
    found: set[str] = set()
    waiting = [name for each in {BASE, extra} for name in brought_by(OURS, each) if name != OURS]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            try:
                waiting += brought_by(name, BASE)
            except PackageNotFoundError:
                if name not in ELSEWHERE:
                    raise
    return found


def page() -> str:
    """THIRD-PARTY.md."""
    base = closure(BASE)
    named = metadata(OURS).get_all("Provides-Extra", [])
    extras = {extra: closure(extra) - base for extra in named if extra not in ("all", "dev")}
    rows = []
    for name in sorted(base.union(*extras.values())):
        brings = ", ".join(extra for extra, names in extras.items() if name in names)
        rows.append((name, licence(name), brings or "every install"))
    return HEAD + table(("package", "licence", "comes with"), rows)


def main() -> int:
    """Check everything that is installed, then write or compare the page."""
    locked = re.findall(r"^([a-z0-9-]+)==", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    refused = [
        f"`{name}` is in `all`, and {BY_CHOICE[name]} is a choice" for name in sorted(closure("all") & {*BY_CHOICE})
    ]
    for name in sorted({*locked, *closure("all"), *closure("kerberos")}):
        with suppress(PackageNotFoundError):  # of another platform
            if not is_allowed(licence(name)) and licence(name) != BY_CHOICE.get(name):
                refused.append(
                    f"`{name}` has the licence `{licence(name)}`, which `ALLOWED` in .ci/licences.py does not list"
                )
    if "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != page():
        refused.append("THIRD-PARTY.md is not what the packages say; run `make licences`")
    sys.stderr.write("".join(f"{line}\n" for line in refused))
    return bool(refused)


if __name__ == "__main__":
    sys.exit(main())
