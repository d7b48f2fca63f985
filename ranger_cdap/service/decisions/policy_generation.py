"""`PolicyGeneration`: a name for the policies in effect, by which caches of answers know when to clear."""

from __future__ import annotations

import threading
import uuid

from ranger_cdap.ranger.refresh.policy_refresher import Snapshot


class PolicyGeneration:
    """Generator of names for states of the policies; no process and no later state ever reuses one."""

    def __init__(self) -> None:
        self._process = uuid.uuid4().hex[:12]
        self._lock = threading.Lock()
        self._last: tuple[object, ...] = ()
        self._count = 0

    def of(self, snapshot: Snapshot) -> str:
        """Return the name of the policies and the freshness that decide now."""
        with self._lock:
            current = (snapshot.engine, snapshot.state, snapshot.versions, snapshot.groups_of)
            if current != self._last:
                self._last = current
                self._count += 1
            return f"{self._process}-{self._count}"
