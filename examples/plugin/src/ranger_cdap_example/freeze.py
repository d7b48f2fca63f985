"""The veto: while a file exists, all changes are denied."""

from __future__ import annotations

import os
from pathlib import Path

from ranger_cdap import Answer

VARIABLE = "RANGER_CDAP_EXAMPLE_FREEZE"

# Prefixes of read-only operations: `dataset.get`, `program.view_logs`; all others, future ones included, are frozen.
LOOKS = frozenset({"exists", "get", "list", "read", "search", "view"})


def reason_to_deny(answer: Answer) -> str | None:
    """Return the reason to deny, or None. If it cannot be determined, the error propagates and `ranger-cdap` denies."""
    place = os.environ.get(VARIABLE)
    action = answer.operation.rpartition(".")[2]
    if not place or action.partition("_")[0] in LOOKS:
        return None
    try:
        Path(place).stat()
    except FileNotFoundError:
        return None
    return "changes are frozen"
