"""`EntityEvent`: one line of one source about the creation or deletion of one entity."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from ranger_cdap.cdap.creations import ChangeKind
from ranger_cdap.cdap.entity import EntityId

__all__ = ["NEVER", "ChangeKind", "EntityEvent", "Outcome", "Position", "Stage"]

NEVER: Final = 2**62
"""The end of a request that is not known to have ended."""


class Stage(StrEnum):
    """Stage of a request when the line was written.

    `check`: the decision service allowed and journalled it. `request`: CDAP answered it. `message`: CDAP's own message
    about what it did. `rejected`: the readable part of a rejected line. `answer`: CDAP's answer to whether the entity
    exists; `CREATE` means that it does. `refused`: the service refused a check in the deletion of a namespace, which it
    journalled, or a record names.
    """

    CHECK = "check"
    REQUEST = "request"
    MESSAGE = "message"
    REJECTED = "rejected"
    ANSWER = "answer"
    REFUSED = "refused"


class Outcome(StrEnum):
    """Outcome of the request for the entity: it succeeded, it is unknown, or it changed nothing."""

    DONE = "done"
    UNCLEAR = "unclear"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class EntityEvent:
    """An event; (source, id) is its key. Times are epoch milliseconds.

    The effect is not before `started` and not after `ended`; `clock` is the process whose clock they are read from,
    empty for the source's own. `requester` sent the request if CDAP impersonates the user for them. `check` is the id
    of the journalled check, `request` method, path and status. `version`: only that version is created or deleted.
    `child`: the type of the entities below that the check is about. `refused`: the type of the one in this namespace
    whose check was refused. `received`: when the line was stored, `caller`: who delivered it. `requested`: when the
    request itself began, which may be long before its check; 0 if the source does not say.
    """

    entity: EntityId
    kind: ChangeKind
    stage: Stage
    user: str
    started: int
    ended: int
    source: str
    id: str
    outcome: Outcome = Outcome.DONE
    requester: str = ""
    clock: str = ""
    check: str = ""
    request: str = ""
    version: str = ""
    child: str = ""
    received: int = 0
    caller: str = ""
    requested: int = 0
    refused: str = ""

    @property
    def position(self) -> Position:
        """Return the position in the order of events: of a creation by its start, of a deletion by its end."""
        return Position(self.time, self.kind is ChangeKind.DELETE, self.source, self.id)

    @property
    def time(self) -> int:
        """Return the time of that position."""
        return self.ended if self.kind is ChangeKind.DELETE and self.ended < NEVER else self.started


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Position in the total order of events: time, then creations before deletions, then source and id."""

    time: int
    after_creations: bool
    source: str
    id: str
