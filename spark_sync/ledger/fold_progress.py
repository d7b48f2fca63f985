"""`FoldProgress`: how far the events of a ledger are folded, in a small file beside its tables."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from ranger_cdap.errors import SyncError
from spark_sync.ledger.ledger import Scope
from spark_sync.ledger.state_file import write_state


class FoldProgress(msgspec.Struct, frozen=True):
    """Progress of the fold: the last folded round, and how far its rounds are decided.

    Losing it costs only time, because folding is idempotent.
    """

    folded: int = 0
    scope: Scope = Scope()


@dataclass(frozen=True, slots=True)
class FoldProgressFile:
    """The progress of a CDAP instance."""

    path: Path

    def read(self) -> FoldProgress:
        """Return the progress; that of a beginning if there is no file.

        Raises:
            SyncError: the file cannot be read.
        """
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=FoldProgress)
        except FileNotFoundError:
            return FoldProgress()
        except (OSError, msgspec.DecodeError) as e:
            raise SyncError(f"`{self.path}` cannot be read ({type(e).__name__}); delete it to fold all again") from e

    def write(self, progress: FoldProgress) -> None:
        """Replace the file durably.

        Raises:
            SyncError: it cannot be written.
        """
        write_state(self.path, progress)
