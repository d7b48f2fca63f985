"""The veto: while a file exists, all changes are denied."""

from __future__ import annotations

import os
from pathlib import Path

from ranger_cdap import Answer

VARIABLE = "RANGER_CDAP_EXAMPLE_FREEZE"

# How operations that only look begin: `dataset.get`, `program.view_logs`; whatever else there is or will be is frozen.
LOOKS = frozenset({"exists", "get", "list", "read", "search", "view"})


def reason_to_deny(answer: Answer) -> str | None:
    """Why not, or nothing. Where we cannot find out, the error goes on, and `ranger-cdap` denies."""
    place = os.environ.get(VARIABLE)
    action = answer.operation.rpartition(".")[2]
    if not place or action.partition("_")[0] in LOOKS:
        return None
    try:
        Path(place).stat()
    except FileNotFoundError:
        return None
    return "changes are frozen"
