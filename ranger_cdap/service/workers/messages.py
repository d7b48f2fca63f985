"""Messages between the owner of a service and its workers, each a frame of MessagePack on a private pair of sockets.

Both ends are one program and one user; nothing else can reach the sockets, which have no name.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ranger_cdap.service.state.owner_link import ForwardedReply, ForwardedRequest
from ranger_cdap.service.wire.event_wire import JournalledCheck, Record


class Message(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Any message."""


class Begin(Message, frozen=True):
    """The first message to a worker: its settings, pickled because they hold secrets, which no other form shows."""

    settings: bytes
    log_level: int
    generation: str


class Freshness(msgspec.Struct, frozen=True, array_like=True):
    """The owner's `RefresherState` without its policies; the clocks are those of the machine."""

    wall: float
    monotonic: float
    contact_at: float | None
    age: float
    failure: str | None
    reason: str
    gone: bool


class FullSet(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """The documents of a policy set."""

    policies: bytes
    roles: bytes
    tags: bytes | None
    users: bytes | None


class NextSet(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """The changes from the set of number `since`: deltas of its policies as downloaded, or users, or both."""

    since: int
    deltas: bytes | None
    users: bytes | None


class SamePolicies(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """The set that the worker has stays in effect."""


class NoPolicies(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """No policies are in effect."""


Change = FullSet | NextSet | SamePolicies | NoPolicies


class PolicyNews(Message, frozen=True):
    """The policies of a Ranger service that the owner has: set `number`, 0 for none, and how fresh they are."""

    service: str
    number: int
    freshness: Freshness
    change: Change


class Serve(Message, frozen=True):
    """Begin to accept connections: the policies are those of the owner."""


class Stop(Message, frozen=True):
    """Finish the requests in progress and end."""


class Answered(Message, frozen=True):
    """The owner's response to the forwarded request of that number."""

    number: int
    reply: ForwardedReply


class CreationRecorded(Message, frozen=True):
    """A record of CDAP, for the sentence about pending grants in denials."""

    caller: str
    record: Record


class CreationChecked(Message, frozen=True):
    """An allowed check of a request to create, for the same sentence."""

    check: JournalledCheck


class CreationDenied(Message, frozen=True):
    """A check that was denied after all."""

    check: JournalledCheck


class Forward(Message, frozen=True):
    """A request for the owner, by a number of the worker's."""

    number: int
    request: ForwardedRequest


class InEffect(Message, frozen=True):
    """The set of that number decides in this worker from now on; `version` is that of its policies."""

    service: str
    number: int
    version: int


class Lost(Message, frozen=True):
    """The worker cannot continue from the set it has, and needs a full one."""

    service: str


class Failed(Message, frozen=True):
    """The worker cannot start, for a reason in one sentence."""

    reason: str


CreationMessage = CreationRecorded | CreationChecked | CreationDenied
ToWorker = Begin | PolicyNews | Serve | Stop | Answered | CreationMessage
ToOwner = Forward | InEffect | Lost | Failed

decode_to_worker: Final = msgspec.msgpack.Decoder(ToWorker).decode
decode_to_owner: Final = msgspec.msgpack.Decoder(ToOwner).decode
encode: Final = msgspec.msgpack.Encoder().encode
