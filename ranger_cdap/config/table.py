"""`Table`: a table of `ranger-cdap.toml`; the text below a field is its description in the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec
import platformdirs

_PROGRAM = "ranger-cdap"


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the configuration file."""


class UserDirectory(msgspec.Struct, frozen=True):
    """A default path in one of the user's directories, wherever the system puts them."""

    kind: Literal["cache", "data", "state"]
    below: str = ""

    def __call__(self) -> Path:
        """Return the path on this system, for this user."""
        places = {
            "cache": platformdirs.user_cache_dir,
            "data": platformdirs.user_data_dir,
            "state": platformdirs.user_state_dir,
        }
        return Path(places[self.kind](_PROGRAM), self.below)

    def __str__(self) -> str:
        return f"`{Path(_PROGRAM, self.below).as_posix()}` in the user's {self.kind} directory"
