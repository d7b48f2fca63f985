"""`ServiceWithWorkers`: the process that owns a decision service, and whose workers decide.

It alone downloads policies, journals checks, stores records and answers for the service; it accepts no connection.
Laws: a worker that ends is replaced; no worker outlives the owner for longer than its last requests; the owner answers
what workers forward until the last of them has ended.
"""

from __future__ import annotations

import asyncio
import logging
import mmap
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Final

from ranger_cdap.config import Settings
from ranger_cdap.errors import ServerError
from ranger_cdap.listener import stop_signals
from ranger_cdap.policies.refresh.refresh_state import RefresherState
from ranger_cdap.service.composition import Shared, compose_service
from ranger_cdap.service.decisions.policy_generation import SharedGeneration
from ranger_cdap.service.http.metrics import ServiceMetrics
from ranger_cdap.service.http.server import HttpServer
from ranger_cdap.service.http.tally import SIZE, Tally
from ranger_cdap.service.http.token_buckets import SharedBuckets
from ranger_cdap.service.state.app_state import AppState
from ranger_cdap.service.wire.event_wire import JournalledCheck, Record
from ranger_cdap.service.workers.channel import Channel, ChannelClosed
from ranger_cdap.service.workers.everywhere import PoliciesEverywhere
from ranger_cdap.service.workers.forwarded import answer
from ranger_cdap.service.workers.messages import (
    Answered,
    Begin,
    CreationChecked,
    CreationDenied,
    CreationMessage,
    CreationRecorded,
    Failed,
    Forward,
    InEffect,
    Lost,
    Stop,
    ToWorker,
    decode_to_owner,
    encode,
)
from ranger_cdap.service.workers.roster import Outgoing, Roster

logger = logging.getLogger(__name__)

_WORKER: Final = "ranger_cdap.service.workers.worker"
_RESTART_SECONDS: Final = 1.0
"""At least so long from one start of a worker to the next of its replacement."""
_CONFIRM_SECONDS: Final = 300.0
"""A worker that takes longer to put policies into effect is killed: a million of them take a tenth of that."""
_MARGIN_SECONDS: Final = 5.0


@dataclass(eq=False, slots=True)
class _Process:
    """A worker's process, and the owner's end of its channel."""

    process: subprocess.Popen[bytes]
    channel: Channel


class SharedReplicas:
    """The roster, for the threads of handlers; changed by the event loop's thread only."""

    def __init__(self) -> None:
        self.roster = Roster()
        self._changed = threading.Condition()

    def become(self, roster: Roster) -> None:
        """Replace the roster."""
        with self._changed:
            self.roster = roster
            self._changed.notify_all()

    def wait_for(self, service: str, number: int, timeout: float) -> bool:
        """Return true once the policy set of that number, or a later one, is in effect in every worker."""
        with self._changed:
            return self._changed.wait_for(lambda: self.roster.is_everywhere(service, number), max(0.0, timeout))

    def oldest_version(self, service: str) -> int | None:
        """Return the lowest version of the policies in effect in a worker; None without workers."""
        return self.roster.oldest_version(service)


class ServiceWithWorkers:
    """Decision service of the settings, in this process and `service.workers` others.

    Raises:
        InvalidInput: a setting is not usable.
        PluginError: an installed plugin is not usable.
        ServerError: the port is taken.
    """

    def __init__(self, settings: Settings, log_level: int = logging.INFO) -> None:
        self._settings = settings
        self._log_level = log_level
        self._server = HttpServer(settings.service)
        self._replicas = SharedReplicas()
        self._generation = uuid.uuid4().hex[:12]
        self._buckets, self._tallies = _memory_to_share(), _memory_to_share()
        os.ftruncate(self._tallies, settings.service.workers * SIZE)
        blocks = memoryview(mmap.mmap(self._tallies, 0))
        tallies = [Tally(blocks[n * SIZE : (n + 1) * SIZE]) for n in range(settings.service.workers)]
        shared = Shared(
            metrics=ServiceMetrics(others=tallies),
            generation=SharedGeneration(self._generation),
            buckets=SharedBuckets(self._buckets, [row.name for row in settings.service.callers]),
            replicas=self._replicas,
            spread=lambda refresher, name: PoliciesEverywhere(refresher, name, self._replicas),
        )
        self._workers: dict[int, _Process] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._failed = ""
        self._stopping = asyncio.Event()
        try:
            self._state, self._app, self._refreshers = compose_service(
                settings, refresh_in_background=True, shared=shared
            )
        except BaseException:
            self._server.stop()
            raise

    @property
    def url(self) -> str:
        """Return the URL that the workers listen on."""
        return self._server.url

    @property
    def state(self) -> AppState:
        """Return the state of the owner."""
        return self._state

    def run(self) -> None:
        """Run the workers until a signal stops the service; the caller must `close` it.

        Raises:
            ServerError: a worker cannot start.
        """
        asyncio.run(self._run())
        if self._failed:
            raise ServerError(self._failed)

    def close(self) -> None:
        """Close the port, and store what is pending."""
        self._server.stop()
        self._state.close()
        os.close(self._buckets)
        os.close(self._tallies)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()

        def stop() -> None:
            loop.call_soon_threadsafe(self._stopping.set)

        if self._state.events is not None:
            self._state.events.creations.news = _CreationRelay(
                lambda message: call_in_loop(loop, self._broadcast, message)
            )
        with stop_signals(stop):
            for name, refresher in self._refreshers.items():
                refresher.follow(partial(self._refreshed, loop, name))
            await asyncio.sleep(0)  # the first states are in the roster before the first worker
            tending = [asyncio.create_task(self._tend(number)) for number in range(self._settings.service.workers)]
            for task in tending:
                task.add_done_callback(self._tended)
            await self._stopping.wait()
            self._broadcast(Stop())
            patience = self._settings.service.stop_timeout + _MARGIN_SECONDS
            _, late = await asyncio.wait(tending, timeout=patience)
            for worker in self._workers.values():
                worker.process.kill()
            if late:
                await asyncio.wait(late)

    async def _tend(self, place: int) -> None:
        """Keep a worker running in that place until the service stops."""
        while not self._stopping.is_set():
            began = time.monotonic()
            worker = await self._start(place)
            self._tell(self._replicas.roster.joined(place))
            for service, state in self._replicas.roster.states.items():
                self._expect(place, worker, service, state)
            await self._attend(place, worker)
            code = await asyncio.to_thread(worker.process.wait)
            any_serves = any(member.serves for member in self._replicas.roster.members.values())
            del self._workers[place]
            self._replicas.become(self._replicas.roster.left(place))
            if self._stopping.is_set():
                return
            if code >= 0 and not any_serves:
                self._failed = self._failed or f"a worker ended with code {code} before it could decide; see its log"
                self._stopping.set()
                return
            logger.error("a worker ended with code %d and is replaced", code)
            await asyncio.sleep(max(0.0, began + _RESTART_SECONDS - time.monotonic()))

    def _tended(self, task: asyncio.Task[None]) -> None:
        """Stop the service if a place cannot be filled any more, rather than go on with fewer workers unnoticed."""
        if (error := task.exception()) is not None:
            self._failed = self._failed or f"a worker cannot be kept running: {type(error).__name__}"
            self._stopping.set()

    async def _start(self, place: int) -> _Process:
        ours, theirs = socket.socketpair()
        descriptors = [theirs.fileno(), self._server.descriptor, self._tallies, self._buckets]
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - our own program, without arguments from outside
                [sys.executable, "-P", "-m", _WORKER, *map(str, descriptors), str(place)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=descriptors,
                start_new_session=True,  # a Ctrl-C in the owner's terminal is for the owner
            )
        worker = self._workers[place] = _Process(process, await Channel.over(ours))
        worker.channel.send(encode(Begin(pickle.dumps(self._settings), self._log_level, self._generation)))
        return worker

    async def _attend(self, place: int, worker: _Process) -> None:
        """Answer a worker until its process has ended."""
        try:
            while True:
                match decode_to_owner(await worker.channel.receive()):
                    case Forward() as message:
                        task = asyncio.create_task(self._answer(worker, message))
                        self._answering.add(task)
                        task.add_done_callback(self._answering.discard)
                    case InEffect() as message:
                        self._tell(self._replicas.roster.confirmed(place, message))
                    case Lost() as message:
                        self._tell(self._replicas.roster.lost(place, message.service))
                    case Failed() as message:
                        self._failed = self._failed or message.reason
                        worker.channel.close()
        except ChannelClosed:
            worker.channel.close()

    async def _answer(self, worker: _Process, message: Forward) -> None:
        reply = await answer(self._app, message.request)
        worker.channel.send(encode(Answered(message.number, reply)))

    def _refreshed(self, loop: asyncio.AbstractEventLoop, service: str, state: RefresherState) -> None:
        """Take the state from the thread that refreshed."""
        call_in_loop(loop, self._changed, service, state)

    def _changed(self, service: str, state: RefresherState) -> None:
        self._tell(self._replicas.roster.changed(service, state))
        for place, worker in self._workers.items():
            self._expect(place, worker, service, state)

    def _expect(self, place: int, worker: _Process, service: str, state: RefresherState) -> None:
        """Kill the worker if it does not decide by those policies in time."""
        if state.in_effect is not None:
            number, loop = state.in_effect.number, asyncio.get_running_loop()
            loop.call_later(_CONFIRM_SECONDS, self._kill_if_late, place, worker, service, number)

    def _kill_if_late(self, place: int, worker: _Process, service: str, number: int) -> None:
        member = self._replicas.roster.members.get(place)
        if self._workers.get(place) is worker and member is not None and member.held[service].decides < number:
            logger.error("a worker did not put policies into effect within %d s and is killed", _CONFIRM_SECONDS)
            worker.process.kill()

    def _tell(self, told: tuple[Roster, Outgoing]) -> None:
        roster, messages = told
        self._replicas.become(roster)
        for place, message in messages:
            if place in self._workers:
                self._workers[place].channel.send(encode(message))

    def _broadcast(self, message: ToWorker) -> None:
        frame = encode(message)
        for worker in self._workers.values():
            worker.channel.send(frame)


def call_in_loop(loop: asyncio.AbstractEventLoop, callback: Callable[..., object], *arguments: object) -> None:
    """Call in the loop's thread, from another one; once the loop has ended, no worker is left to be informed."""
    with suppress(RuntimeError):  # raised for a closed loop only
        loop.call_soon_threadsafe(callback, *arguments)


def _memory_to_share() -> int:
    """Return the descriptor of memory for several processes; on Linux no disk can be too full for it."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("ranger-cdap")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


@dataclass(frozen=True, slots=True)
class _CreationRelay:
    """Sends what the owner remembers of creations to all workers."""

    send: Callable[[CreationMessage], object]

    def recorded(self, caller: str, record: Record) -> None:
        self.send(CreationRecorded(caller, record))

    def checked(self, check: JournalledCheck) -> None:
        self.send(CreationChecked(check))

    def denied(self, check: JournalledCheck) -> None:
        self.send(CreationDenied(check))
