"""`RecentCreations`: recent creations and requests to create, for a sentence in their users' denials until the grant.

It decides nothing. It is kept in memory only: a restart forgets all earlier creations.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ranger_cdap.cdap.answer import Answer, EvaluatedPrivilege, is_undecided
from ranger_cdap.cdap.creations import ChangeKind
from ranger_cdap.cdap.entity import EntityId, entity_types
from ranger_cdap.cdap.profile import ANY, VISIBLE, load_profile
from ranger_cdap.config import Settings
from ranger_cdap.wire.event_wire import JournalledCheck, Record
from ranger_cdap.wire.record_events import (
    RecordedChange,
    change_of_check,
    changes_in,
    creations_and_deletions,
)

KEPT: Final = 3_600_000
"""Milliseconds after a creation in which denials mention it: a grant that takes longer has another problem."""

UNREPORTED: Final = 600_000
"""Milliseconds after an allowed request to create in which denials mention that CDAP has not reported its result."""

MOST: Final = 10_000
"""Limit on remembered entities, and on requests; the least recently reported are forgotten first."""

LONGEST: Final = 500
"""Longest name of a user or an entity that is remembered, so that records cannot fill the memory."""

_AHEAD: Final = 900_000
_GRANT: Final = "grant to its creator"


@dataclass(frozen=True, slots=True)
class Creators:
    """Rules for creators as in the sync job, by the settings that both read.

    `callers`: the trusted sources of records; None for all that may deliver records.
    """

    gives: Mapping[str, tuple[str, ...]]
    callers: frozenset[str] | None = None
    non_creators: frozenset[str] = frozenset()
    mapped: Mapping[str, str] = field(default_factory=dict)
    by_requester: bool = False

    @classmethod
    def of(cls, settings: Settings) -> Creators:
        """Return the rules of the settings.

        Raises:
            InvalidInput: the profile is unknown.
        """
        sync, profile = settings.sync, load_profile(settings.cdap.profile)
        named = [source.callers for source in sync.sources if source.kind == "data-plane"]
        return cls(
            gives={kind: profile.resultant(kind) for kind in entity_types()},
            callers=frozenset().union(*named) if named else None,
            non_creators=frozenset({"", settings.master.name, *sync.non_creators}),
            mapped=sync.mapped,
            by_requester=sync.impersonated == "requester",
        )

    def creator(self, change: RecordedChange) -> str:
        """Return the user who gets a grant for a creation; empty if there is none."""
        user = change.requester if self.by_requester and change.requester else change.user
        user = self.mapped.get(user, user)
        return "" if user in self.non_creators or not self.gives.get(change.entity.type) else user


@dataclass(frozen=True, slots=True)
class _Creation:
    """First creator of an entity since its last deletion; times in epoch milliseconds."""

    user: str = ""
    created: int = 0
    deleted: int = 0

    @property
    def lasts(self) -> bool:
        return self.created > self.deleted

    def after(self, change: RecordedChange, creator: str) -> _Creation:
        if change.kind is ChangeKind.DELETE:
            return replace(self, deleted=max(self.deleted, change.time))
        return (
            self
            if change.time <= self.deleted or (self.lasts and self.created <= change.time)
            else replace(self, user=creator, created=change.time)
        )


@dataclass(eq=False, slots=True)
class RecentCreations:
    """Bounded memory of the creations in stored records; safe to share between threads."""

    creators: Creators
    most: int = MOST
    clock: Callable[[], float] = time.time
    _lives: OrderedDict[EntityId, _Creation] = field(default_factory=OrderedDict)
    _requests: OrderedDict[tuple[EntityId, str], int] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add_record(self, caller: str, record: Record) -> None:
        """Remember the creations in a record, if its caller is trusted."""
        if self.creators.callers is not None and caller not in self.creators.callers:
            return
        for change in changes_in(record):
            self._end_request(change)
        for change in creations_and_deletions(record):
            creator = self.creators.creator(change)
            if self._is_recent(change, KEPT) and max(len(creator), len(str(change.entity))) <= LONGEST:
                self._remember(change, creator)

    def add_check(self, check: JournalledCheck) -> None:
        """Remember an allowed check of a request to create, until a record says how it ended.

        Not where grants go to the requesters of impersonated users, whom a check does not name.
        """
        change = change_of_check(check, "", check.at)
        if change is None or not self._may_create(change) or not self._is_recent(change, UNREPORTED):
            return
        user = self.creators.creator(change)
        if user and max(len(user), len(str(change.entity))) <= LONGEST:
            with self._lock:
                self._requests[change.entity, user] = change.time
                self._requests.move_to_end((change.entity, user))
                while len(self._requests) > self.most:
                    self._requests.popitem(last=False)

    def remove_check(self, check: JournalledCheck) -> None:
        """Forget a check that was denied after all."""
        if change := change_of_check(check, "", check.at):
            self._end_request(change)

    def pending_grant(self, answers: Iterable[Answer]) -> str:
        """Return the sentence to add to denials of the creator; empty for any other user.

        Also empty if a policy decides already: either the grant is in effect, or it would not help.
        """
        if not self._lives and not self._requests:
            return ""
        found = (self._sentence(evaluated) for answer in answers for evaluated in _open(answer))
        return "; ".join(dict.fromkeys(filter(None, found)))

    def _sentence(self, evaluated: EvaluatedPrivilege) -> str:
        for entity in _granted_with(evaluated):
            given = {ANY, VISIBLE, *(access.upper() for access in self.creators.gives.get(entity.type, ()))}
            if given.isdisjoint(evaluated.actions):
                continue
            user = evaluated.person
            if (created := self._created(entity, user)) is not None:
                return f"{user} created {entity} {self._age(created)} ago, and the {_GRANT} is not in effect yet"
            if (asked := self._requested(entity, user)) is not None:
                request = f"{user} asked CDAP to create {entity} {self._age(asked)} ago"
                return f"{request}, and the {_GRANT} waits for its report"
        return ""

    def _created(self, entity: EntityId, user: str) -> int | None:
        """Return the time when the user created it; None if they did not, too long ago, or it or its parent is gone."""
        with self._lock:
            life = self._lives.get(entity)
            if life is None or life.user != user or not life.lasts or life.created <= self._now() - KEPT:
                return None
            gone = [self._lives[above].deleted for above in _above(entity) if above in self._lives]
        return life.created if all(deleted < life.created for deleted in gone) else None

    def _requested(self, entity: EntityId, user: str) -> int | None:
        """Return the time of the user's unreported request; None without one, or if the entity is known to exist."""
        with self._lock:
            asked = self._requests.get((entity, user))
            life = self._lives.get(entity)
        return (
            None if asked is None or asked <= self._now() - UNREPORTED or (life is not None and life.lasts) else asked
        )

    def _end_request(self, change: RecordedChange) -> None:
        key = change.entity, self.creators.creator(replace(change, requester=""))
        with self._lock:
            if self._may_create(change) and self._requests.get(key, change.ended + 1) <= change.ended:
                del self._requests[key]

    def _may_create(self, change: RecordedChange) -> bool:
        return change.kind is ChangeKind.CREATE and not change.child and not self.creators.by_requester

    def _is_recent(self, change: RecordedChange, kept: int) -> bool:
        now = self._now()
        return now - kept < change.time <= now + _AHEAD

    def _age(self, then: int) -> str:
        seconds = max(0, self._now() - then) // 1000
        return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"

    def _remember(self, change: RecordedChange, creator: str) -> None:
        with self._lock:
            self._lives[change.entity] = self._lives.get(change.entity, _Creation()).after(change, creator)
            self._lives.move_to_end(change.entity)
            while len(self._lives) > self.most:
                self._lives.popitem(last=False)

    def _now(self) -> int:
        return int(self.clock() * 1000)


def _open(answer: Answer) -> Iterator[EvaluatedPrivilege]:
    """Yield the privileges that the user lacks and that no policy decides."""
    if not answer.allowed:
        for evaluated in answer.decided_by:
            if evaluated.person == answer.person and not evaluated.held and is_undecided(evaluated.decision):
                yield evaluated


def _granted_with(evaluated: EvaluatedPrivilege) -> Iterator[EntityId]:
    """Yield the entities whose creator's grant would cover the evaluated privilege."""
    entity = evaluated.entity
    if isinstance(entity, EntityId):
        yield entity
        if entity.type == "program" and (application := entity.parent):
            yield application


def _above(entity: EntityId) -> Iterator[EntityId]:
    above = entity.parent
    while above is not None:
        yield above
        above = above.parent
