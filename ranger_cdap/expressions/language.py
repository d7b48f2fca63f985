"""The tables of the subset of Ranger's script language, and how a script outside of it is refused."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


class NotInSubset(ValueError):
    """Raised for a script that is not evaluated; its text says what of it."""


@cache
def language() -> Mapping[str, Any]:
    """Return the tables of the subset."""
    return tomllib.loads(files(__package__).joinpath("language.toml").read_text(encoding="utf-8"))


def shown(text: str) -> str:
    """Return a part of a script for a message."""
    return "".join(c if c.isprintable() and c != "`" else "?" for c in text[:40])
