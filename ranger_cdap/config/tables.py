"""The tables of this package: what keys of other programs' files mean."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def rows_of(name: str) -> Mapping[str, Mapping[str, Any]]:
    """Return the rows of `NAME.toml`."""
    return tomllib.loads(files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8"))
