"""`PolicyGeneration`: a name for the policies in effect, by which caches of answers know when to clear."""

from __future__ import annotations

import threading
import uuid
from dataclasses import dataclass, field

from ranger_cdap.ranger.refresh.policy_refresher import Snapshot


@dataclass(eq=False, slots=True)
class PolicyGeneration:
    """Generator of names for states of the policies; no process and no later state ever reuses one."""

    _process: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: tuple[object, ...] = ()
    _count: int = 0

    def of(self, snapshot: Snapshot) -> str:
        """Return the name of the policies and the freshness that decide now."""
        with self._lock:
            current = (snapshot.engine, snapshot.state, snapshot.versions, snapshot.groups_of)
            if current != self._last:
                self._last = current
                self._count += 1
            return f"{self._process}-{self._count}"
