"""`Roster`: the policies that each worker has, and the news each one needs. Pure: it returns the messages to send.

Laws: a worker begins to serve only with the newest set of every service. Policies are in effect everywhere once every
serving worker has said so; a worker stops counting only when its process has ended. Whatever a worker holds, the news
it gets lead it to the owner's set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from ranger_cdap.policies.refresh.documents import PolicySet, pieces
from ranger_cdap.policies.refresh.refresh_state import RefresherState
from ranger_cdap.service.workers.messages import (
    Change,
    Freshness,
    FullSet,
    InEffect,
    NextSet,
    NoPolicies,
    PolicyNews,
    SamePolicies,
    Serve,
)

NONE: Final = 0
"""Number of no policy set."""


@dataclass(frozen=True, slots=True)
class Held:
    """Sets of one service in a worker, by number: the last one sent, and the one that decides."""

    sent: int = -1
    decides: int = -1
    version: int = -1


@dataclass(frozen=True, slots=True)
class WorkerPolicies:
    """A worker: whether it serves, and its sets by service."""

    serves: bool = False
    held: Mapping[str, Held] = field(default_factory=dict)


Outgoing = tuple[tuple[int, PolicyNews | Serve], ...]
"""Messages, each with the number of its worker."""


@dataclass(frozen=True, slots=True)
class Roster:
    """Workers by number, and the owner's states by service, with the set that came before the one in effect."""

    members: Mapping[int, WorkerPolicies] = field(default_factory=dict)
    states: Mapping[str, RefresherState] = field(default_factory=dict)
    before: Mapping[str, PolicySet | None] = field(default_factory=dict)

    def changed(self, service: str, state: RefresherState) -> tuple[Roster, Outgoing]:
        """Return the roster after a refresh of a service, and the news for all workers."""
        was = self.states.get(service)
        before = self.before.get(service)
        if was is not None and was.in_effect is not state.in_effect:
            before = was.in_effect
        changed = replace(self, states={**self.states, service: state}, before={**self.before, service: before})
        return changed._told(service, tuple(self.members))

    def joined(self, worker: int) -> tuple[Roster, Outgoing]:
        """Return the roster with a worker that has nothing yet, and the news for it."""
        roster, news = replace(self, members={**self.members, worker: WorkerPolicies()}), Outgoing()
        for service in self.states:
            roster, more = roster._told(service, (worker,))
            news += more
        return roster, news

    def left(self, worker: int) -> Roster:
        """Return the roster without a worker whose process has ended."""
        return replace(self, members={number: m for number, m in self.members.items() if number != worker})

    def lost(self, worker: int, service: str) -> tuple[Roster, Outgoing]:
        """Return the roster after a worker could not continue from what it has, and a full set for it."""
        if worker not in self.members:
            return self, ()
        held = replace(self._held(worker, service), sent=-1)
        return self._with(worker, service, held)._told(service, (worker,))

    def confirmed(self, worker: int, message: InEffect) -> tuple[Roster, Outgoing]:
        """Return the roster after a set decides in a worker; it serves once it has the newest set of every service."""
        if worker not in self.members:
            return self, ()
        held = replace(self._held(worker, message.service), decides=message.number, version=message.version)
        roster = self._with(worker, message.service, held)
        member = roster.members[worker]
        if member.serves or not all(roster._is_newest(worker, service) for service in self.states):
            return roster, ()
        members = {**roster.members, worker: replace(member, serves=True)}
        return replace(roster, members=members), ((worker, Serve()),)

    def is_everywhere(self, service: str, number: int) -> bool:
        """Return true if that set, or a later one, decides in every serving worker."""
        return all(held.decides >= number for held in self._serving(service))

    def oldest_version(self, service: str) -> int | None:
        """Return the lowest version that decides in a serving worker; None without any."""
        return min((held.version for held in self._serving(service)), default=None)

    def _serving(self, service: str) -> list[Held]:
        return [member.held.get(service, Held()) for member in self.members.values() if member.serves]

    def _is_newest(self, worker: int, service: str) -> bool:
        in_effect = self.states[service].in_effect
        return self._held(worker, service).decides == (in_effect.number if in_effect is not None else NONE)

    def _held(self, worker: int, service: str) -> Held:
        return self.members[worker].held.get(service, Held())

    def _with(self, worker: int, service: str, held: Held) -> Roster:
        member = self.members[worker]
        member = replace(member, held={**member.held, service: held})
        return replace(self, members={**self.members, worker: member})

    def _told(self, service: str, workers: tuple[int, ...]) -> tuple[Roster, Outgoing]:
        roster, news, state = self, [], self.states[service]
        number = state.in_effect.number if state.in_effect is not None else NONE
        changes: dict[int, Change] = {}  # the texts of a full set are joined once for all workers
        for worker in workers:
            held = self._held(worker, service)
            if held.sent not in changes:
                changes[held.sent] = change_from(held.sent, self.before.get(service), state.in_effect)
            news.append((worker, PolicyNews(service, number, freshness_of(state), changes[held.sent])))
            roster = roster._with(worker, service, replace(held, sent=number))
        return roster, tuple(news)


def change_from(sent: int, before: PolicySet | None, now: PolicySet | None) -> Change:
    """Return the change that leads a worker from the set it was sent last to the one in effect; shortest if possible.

    `before` is the set that was in effect before: only from that one a change is known.
    """
    if now is None:
        return NoPolicies()
    if sent == now.number:
        return SamePolicies()
    if before is not None and sent == before.number:
        documents, applied = now.documents, now.deltas
        users = documents.users if documents.users is not before.documents.users else None
        if now.engine is before.engine and users is not None:
            return NextSet(sent, None, users)
        if applied is not None and applied.since == sent:
            return NextSet(sent, applied.text, users)
    documents = now.documents
    return FullSet(b"".join(pieces(documents.policies)), documents.roles, documents.tags, documents.users)


def freshness_of(state: RefresherState) -> Freshness:
    """Return the part of a state that is not its policies."""
    failure = state.failure.name if state.failure is not None else None
    now = state.now
    return Freshness(now.wall, now.monotonic, state.contact_at, state.age, failure, state.reason, state.gone)
