"""How much memory a process holds, as Linux counts it."""

from __future__ import annotations

import resource
from pathlib import Path

_PAGE = resource.getpagesize() / 2**20


def resident(pid: int | str = "self") -> float:
    """Megabytes of memory in use now."""
    return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE


def private() -> float:
    """Megabytes of this process that no other process shares."""
    lines = Path("/proc/self/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_Dirty")) / 1024
