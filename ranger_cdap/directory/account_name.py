"""The name of an account of this machine."""

from __future__ import annotations

import pwd


def account_name(uid: int) -> str:
    """Return the name of an account of this machine, or the uid if there is none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
