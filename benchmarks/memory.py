"""Memory of a process, as Linux counts it."""

from __future__ import annotations

import resource
from pathlib import Path

_PAGE = resource.getpagesize() / 2**20


def resident(pid: int | str = "self") -> float:
    """Return the resident memory in megabytes."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE


def private() -> float:
    """Return the private memory of this process in megabytes."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")) / 1024
