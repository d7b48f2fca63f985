"""Passwords in Hadoop's credential stores (jceks), which only Java reads: the sentence that says how to export one.

Law: it names a file and an alias only if they are what Hadoop takes for such; any other value might be a secret.
"""

from __future__ import annotations

import re
from typing import Final

PAGE: Final = "docs/how-to/configure.md#passwords-in-a-jceks-file"
"""The two lines that export a password."""

_PROVIDER: Final = re.compile(r"(?:localjceks|jceks)://file(/[A-Za-z0-9._@+=/-]+)")
_ALIAS: Final = re.compile(r"[A-Za-z0-9._-]+")
_ONLY_JAVA: Final = "a jceks file can be read by Java only"


def jceks_note(providers: str, alias: str, then: str) -> str:
    """Return why a password in the first of the comma-separated providers is not used, and what to do instead.

    `then` is what to set; Hadoop keeps aliases in lower case.
    """
    found = next(filter(None, (_PROVIDER.fullmatch(one.strip()) for one in providers.split(","))), None)
    return (
        f"{_ONLY_JAVA}; {then}"
        if found is None or not _ALIAS.fullmatch(alias)
        else f"{_ONLY_JAVA}; export `{alias.lower()}` of `{found[1]}` by the two lines in {PAGE}, and {then}"
    )
