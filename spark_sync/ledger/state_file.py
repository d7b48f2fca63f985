"""Small JSON files of the state directory, each replaced as a whole."""

from __future__ import annotations

from pathlib import Path

import msgspec

from ranger_cdap.disk import replace_file
from ranger_cdap.errors import SyncError, reason


def write_state(path: Path, state: object) -> None:
    """Replace a file durably, in a directory that is created if necessary.

    Raises:
        SyncError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, [msgspec.json.encode(state)])
    except OSError as e:
        raise SyncError(f"`{path}` cannot be written: {reason(e)}") from e
