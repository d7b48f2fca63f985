"""Failures of requests: the same words from every library, and `unsent` only if the server heard nothing."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import anyio
import httpx

from ranger_cdap.client.deadline_transport import DeadlineTransport
from ranger_cdap.client.exchange import FAILURES
from ranger_cdap.net import failures
from ranger_cdap.net.exchange import Exchange
from ranger_cdap.net.failures import RequestFailure, failure_of
from ranger_cdap.net.tls import TlsFiles
from tests.certificates import Authority, put
from tests.net.scripted_server import Script, Then, playing

WAIT = 0.5


@dataclass(frozen=True)
class Server:
    """What a request meets: its address, the authority to trust, and what it heard."""

    url: str
    heard: list[bytes] = field(default_factory=list)
    ca_file: Path | None = None


@contextmanager
def scripted(script: Script, folder: Path | None = None, trusted: Authority | None = None) -> Iterator[Server]:
    """With a folder, over TLS."""
    if folder is None:
        with playing(script) as server:
            yield Server(f"http://127.0.0.1:{server.port}", script.heard)
        return
    own = Authority("own")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*own.server().put(folder / "c.pem", folder / "c.key"))
    ca_file = put(folder / "ca.pem", (trusted or own).pem)
    with playing(script, context) as server:
        yield Server(f"https://127.0.0.1:{server.port}", script.heard, ca_file)


@contextmanager
def full_port() -> Iterator[Server]:
    """A port whose backlog is full, so that connections hang."""
    with (
        socket.create_server(("127.0.0.1", 0), backlog=0) as listening,
        socket.create_connection(listening.getsockname()),
    ):
        yield Server(f"http://127.0.0.1:{listening.getsockname()[1]}")


@contextmanager
def none(url: str) -> Iterator[Server]:
    yield Server(url)


@contextmanager
def without_tls() -> Iterator[Server]:
    with playing(Script([b"HTTP/1.1 400 Bad Request\r\n\r\n"])) as server:
        yield Server(f"https://127.0.0.1:{server.port}")


HALF = b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"
# Each library has a name of its own for an answer that breaks off.
BROKEN = {failures.NOT_HTTP, "the connection broke off"}


class Met(NamedTuple):
    server: Callable[[Path], AbstractContextManager[Server]]
    reasons: set[str]
    unsent: bool


MET = {
    "nothing listens": Met(lambda _: none("http://127.0.0.1:9"), {failures.REFUSED}, True),
    "an unknown name": Met(lambda _: none("http://no-such-host.invalid"), {failures.UNKNOWN_NAME}, True),
    "a full port": Met(lambda _: full_port(), {"no connection within the time-out"}, True),
    "an unknown authority": Met(
        lambda folder: scripted(Script([]), folder, Authority("another")), {failures.UNTRUSTED}, True
    ),
    "no TLS": Met(lambda _: without_tls(), {failures.UNTRUSTED}, False),
    "silence": Met(lambda _: scripted(Script([], Then.SILENCE)), {failures.NO_ANSWER}, False),
    "silence over TLS": Met(lambda folder: scripted(Script([], Then.SILENCE), folder), {failures.NO_ANSWER}, False),
    "a hang-up": Met(lambda _: scripted(Script([])), BROKEN, False),
    "a reset": Met(lambda _: scripted(Script([HALF], Then.RESET)), BROKEN, False),
    "half an answer": Met(lambda _: scripted(Script([HALF])), BROKEN, False),
    "another protocol": Met(lambda _: scripted(Script([b"SSH-2.0-OpenSSH_9.6\r\n"])), BROKEN, False),
}


def by_requests(server: Server) -> None:
    tls = TlsFiles.of(server.ca_file, None, None)
    session = Exchange(tls, read_timeout=WAIT).session
    assert session.get(server.url, timeout=WAIT).content is None


def by_httpx(server: Server) -> None:
    transport = DeadlineTransport(TlsFiles.of(server.ca_file, None, None).context())
    with httpx.Client(transport=transport, timeout=WAIT) as client:
        client.get(server.url)


def by_async_httpx(server: Server) -> None:
    async def ask() -> None:
        context = TlsFiles.of(server.ca_file, None, None).context()
        async with httpx.AsyncClient(verify=context, timeout=WAIT, trust_env=False) as client:
            await client.get(server.url)

    anyio.run(ask)


def test_every_library_fails_in_the_same_words_and_unsent_means_unheard(tmp_path: Path) -> None:
    wrong: dict[tuple[str, str], object] = {}
    for meeting, met in MET.items():
        for ask in (by_requests, by_httpx, by_async_httpx):
            with met.server(tmp_path) as server:
                try:
                    ask(server)
                except FAILURES as e:
                    found = failure_of(e)
                else:
                    found = RequestFailure("", False)
            if found.reason not in met.reasons or found.unsent is not met.unsent or (found.unsent and server.heard):
                wrong[meeting, ask.__name__] = (found, server.heard)
    assert wrong == {}
