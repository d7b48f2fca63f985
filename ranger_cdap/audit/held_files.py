"""Files of which each has one owner: the process that locks it. Those of a dead process can be taken over."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import filelock


@dataclass(eq=False, slots=True)
class HeldFiles:
    """The files that this process holds, oldest first; used by one thread at a time."""

    _locks: dict[Path, filelock.FileLock] = field(default_factory=dict)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The held files, whether they exist yet or not."""
        return tuple(self._locks)

    @property
    def size(self) -> int:
        """The bytes in all of them."""
        return sum(path.stat().st_size for path in self._locks if path.exists())

    def hold(self, path: Path) -> bool:
        """Return whether this process holds the file, now or already; false if another one does."""
        if path in self._locks:
            return True
        lock = filelock.FileLock(f"{path}.lock", mode=0o600)
        try:
            lock.acquire(blocking=False)
        except (filelock.Timeout, OSError):
            return False
        self._locks[path] = lock
        return True

    def adopt(self, paths: Iterable[Path]) -> None:
        """Hold those of the files that no living process holds."""
        for path in sorted(paths):
            if self.hold(path) and not path.exists():  # its owner finished it in the meantime
                self.let_go(path)

    def let_go(self, path: Path) -> None:
        """Release a file; the lock of one that is gone is removed."""
        lock = self._locks.pop(path)
        if not path.exists():
            with suppress(OSError):
                Path(lock.lock_file).unlink()
        lock.release()

    def let_all_go(self) -> None:
        """Release every file."""
        for path in self.paths:
            self.let_go(path)
