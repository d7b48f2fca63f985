"""A worker: the process that decides by the owner's policies and forwards all else; started as `python -m`.

Law: it ends when its owner ends. Until then, while the owner does not answer, it denies what must be journalled and
decides the rest as long as the policies may be used.
"""

from __future__ import annotations

import asyncio
import logging
import mmap
import os
import pickle
import signal
import socket
import sys
from contextlib import suppress
from typing import Final

import msgspec
import pluggy

from ranger_cdap.config import ServiceSettings, Settings
from ranger_cdap.engine import EngineOptions
from ranger_cdap.errors import RangerCdapError
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from ranger_cdap.service.composition import Shared, compose_worker, service_names
from ranger_cdap.service.decisions.policy_generation import SharedGeneration
from ranger_cdap.service.http.json_log import log_json
from ranger_cdap.service.http.metrics import ServiceMetrics
from ranger_cdap.service.http.server import HttpServer, prefer_short_waits
from ranger_cdap.service.http.tally import SIZE, Name, Tally
from ranger_cdap.service.http.token_buckets import SharedBuckets
from ranger_cdap.service.state.app_state import AUDIT_LOST, AUDIT_REFUSED, UNKNOWN, AppState
from ranger_cdap.service.workers.channel import Channel, ChannelClosed
from ranger_cdap.service.workers.forwarded import ChannelToOwner
from ranger_cdap.service.workers.messages import (
    Answered,
    Begin,
    CreationChecked,
    CreationDenied,
    CreationMessage,
    CreationRecorded,
    Failed,
    PolicyNews,
    Serve,
    Stop,
    decode_to_worker,
    encode,
)
from ranger_cdap.service.workers.policy_replica import PolicyReplica

logger = logging.getLogger(__name__)

_REPORT_SECONDS: Final = 0.5
"""Interval in which numbers that other parts of a worker keep are copied to its tally."""


def main(arguments: list[str]) -> int:
    """Run a worker with these descriptors, of the channel, the listener, the tallies and the buckets, and its place."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is for the owner, which stops its workers
    channel, listener, tallies, buckets, place = map(int, arguments)
    ends = socket.socket(fileno=channel), socket.socket(fileno=listener)
    block = memoryview(mmap.mmap(tallies, 0))[place * SIZE : (place + 1) * SIZE]
    return asyncio.run(_run(*ends, Tally(block), buckets))


async def _run(end: socket.socket, listener: socket.socket, tally: Tally, buckets: int) -> int:
    channel = await Channel.over(end)
    try:
        begin = decode_to_worker(await channel.receive())
        assert isinstance(begin, Begin)
        settings: Settings = pickle.loads(begin.settings)  # noqa: S301 - from the parent process, over its own socket
        log_json(begin.log_level)
        shared = Shared(
            metrics=ServiceMetrics(tally),
            generation=SharedGeneration(begin.generation),
            buckets=SharedBuckets(buckets, [row.name for row in settings.service.callers]),
        )
        settings = msgspec.structs.replace(settings, service=share_of(settings.service))
        worker = Worker(channel, settings, plugin_manager(settings), shared, listener)
    except ChannelClosed:
        return 0
    except RangerCdapError as e:
        channel.send(encode(Failed(str(e))))
        with suppress(ChannelClosed):
            await channel.receive()  # until the owner has read it
        return 1
    return await worker.run()


def share_of(service: ServiceSettings) -> ServiceSettings:
    """Return the settings of one worker: its part of what the service may do at once, rounded down. Pure."""
    number = service.workers
    return msgspec.structs.replace(
        service,
        max_requests=service.max_requests // number,
        max_connections=service.max_connections // number,
        max_connections_per_peer=service.max_connections_per_peer // number,
    )


class Worker:
    """The tasks of one worker in its event loop."""

    def __init__(
        self,
        channel: Channel,
        settings: Settings,
        plugins: pluggy.PluginManager,
        shared: Shared,
        listener: socket.socket,
    ) -> None:
        options = EngineOptions(conditions=condition_factories(plugins))
        self._channel = channel
        self._owner = ChannelToOwner(channel)
        self._replicas = {name: PolicyReplica(settings, name, options) for name in service_names(settings)}
        self._news: asyncio.Queue[PolicyNews] = asyncio.Queue()
        self._may_serve = asyncio.Event()
        self._stopping = False
        self._failed = False
        self._server = HttpServer(settings.service, listener)
        self._state, self._app = compose_worker(settings, plugins, self._replicas, self._owner, shared)

    async def run(self) -> int:
        """Run until the owner says so, or ends; return the exit code."""
        tasks = [asyncio.create_task(run) for run in (self._listen(), self._follow(), self._report())]
        try:
            await self._may_serve.wait()
            if not self._stopping:
                prefer_short_waits()
                await self._server.serve(self._app)
        finally:
            for task in tasks:
                task.cancel()
            report_numbers(self._state)
            self._owner.close()
            self._channel.close()
            self._server.stop()
            await asyncio.to_thread(self._state.close)
        return int(self._failed)

    def _stop(self) -> None:
        self._stopping = True
        self._may_serve.set()
        self._server.stop_serving()

    async def _listen(self) -> None:
        """Receive the owner's messages until it ends."""
        try:
            while True:
                match decode_to_worker(await self._channel.receive()):
                    case Answered() as message:
                        self._owner.answered(message)
                    case PolicyNews() as news:
                        self._news.put_nowait(news)
                    case Serve():
                        self._may_serve.set()
                    case Stop():
                        self._stop()
                    case CreationRecorded() | CreationChecked() | CreationDenied() as message:
                        remember(self._state, message)
        except ChannelClosed:
            self._owner.close()
            self._stop()

    async def _follow(self) -> None:
        """Take the news of the policies in their order, in a thread, so that requests go on."""
        try:
            while True:
                news = await self._news.get()
                self._channel.send(encode(await asyncio.to_thread(self._replicas[news.service].take, news)))
        except Exception as e:  # whatever fails, no worker decides by old ones; a new process can use them
            why = str(e) if isinstance(e, RangerCdapError) else type(e).__name__
            logger.error("a worker ends, because it cannot use the policies: %s", why)  # noqa: TRY400 - a sentence
            self._failed = True
            self._stop()

    async def _report(self) -> None:
        while True:
            report_numbers(self._state)
            await asyncio.sleep(_REPORT_SECONDS)


def report_numbers(state: AppState) -> None:
    """Add to the tally what other parts counted since the last time."""
    audit = next(iter(state.services.values())).audit
    numbers: dict[Name, float] = {(AUDIT_LOST,): audit.lost, (AUDIT_REFUSED,): audit.refused}
    numbers |= {(UNKNOWN, what.value): number for what, number in state.enforcer.unknown.items()}
    state.metrics.copy(numbers)


def remember(state: AppState, message: CreationMessage) -> None:
    """Remember a creation that the owner was told of."""
    if state.creations is None:
        return
    match message:
        case CreationRecorded():
            state.creations.add_record(message.caller, message.record)
        case CreationChecked():
            state.creations.add_check(message.check)
        case CreationDenied():
            state.creations.remove_check(message.check)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    logging.shutdown()
    os._exit(code)  # a thread that waits for a disk must not keep it
