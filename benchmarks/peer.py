"""CPU of a check over HTTP beside what somebody would put in its place: OPA on the same questions, and a bare server.

`python -m benchmarks.peer` with `--opa FILE` asks the decision service and OPA in turn, each for the same seconds and
from the same Java client, and prints processor microseconds per request, user and system, of each whole process. OPA
runs on one processor and looks up the entity, the access and the user in an index of the same policies, without
wildcards, roles, callers or audit: its best case. Build it with `go install github.com/open-policy-agent/opa@v1.4.2`.
Without `--opa` the peer is a server of asyncio and httptools that reads a request and answers always the same.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import httptools
import msgspec

from benchmarks.service import (
    POLICIES,
    Service,
    entity_of,
    policies_served,
    run_client,
    served,
    single_checks,
)
from benchmarks.workload import service_policies
from ranger_cdap.net.listener import listen

_RULES: Final = """package checks

default allow := false

accesses := {"STANDARD.GET": "read", "STANDARD.UPDATE": "write", "STANDARD.DELETE": "admin", "STANDARD.CREATE": "admin"}

allow if {
    entity := concat("/", array.concat([input.entity.type], input.entity.parts))
    data.users[entity][accesses[input.permissions[0]]][input.principal.name]
}
"""
_ANSWER: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 17\r\n\r\n" + b'{"allowed": true}'
)


def main() -> None:
    """Print the microseconds of each round, and the ratio of the medians."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--opa", type=Path, metavar="FILE", help="the program `opa`, version 1.4.2")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=float, default=4.0)
    options.add_argument("--echo", type=int, metavar="DESCRIPTOR", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.echo is not None:
        asyncio.run(_echo(given.echo))
        return
    with tempfile.TemporaryDirectory() as directory, policies_served() as url, served(Path(directory), url) as ours:
        place = Path(directory)
        bodies = {"enforce": place / "checks", "opa": place / "inputs", "echo": place / "checks"}
        checks = list(single_checks())
        bodies["enforce"].write_bytes(b"\n".join(checks))
        bodies["opa"].write_bytes(b"\n".join(b'{"input":' + check + b"}" for check in checks))
        with opa(given.opa, place) if given.opa else echo() as peer:
            name, path = ("opa", "/v1/data/checks/allow") if given.opa else ("echo", "/")
            servers = {"enforce": (ours, "/cdap/v1/enforce"), name: (peer, path)}
            taken: dict[str, list[float]] = {each: [] for each in servers}
            for n in range(given.rounds + 1):  # the first warms up
                for each, (server, where) in servers.items():
                    measured = run_client(server, where, bodies[each], 16, given.seconds, 0)
                    if measured["failed"]:
                        sys.exit(f"{each}: {measured['failed']} requests failed")
                    if n:
                        taken[each].append(measured["cpu_us"])
            for each, figures in taken.items():
                shown = " ".join(f"{figure:.0f}" for figure in figures)
                print(f"{each:>8}: {median(figures):.0f} us of CPU per request (median of {shown})", flush=True)
            print(f"   ratio: {median(taken['enforce']) / median(taken[name]):.2f} of {name}")


@contextmanager
def opa(program: Path, directory: Path) -> Iterator[Service]:
    """Run OPA on one processor with the index of the policies; without a decision log."""
    users: dict[str, dict[str, dict[str, bool]]] = {}
    for policy in msgspec.json.decode(service_policies(POLICIES))["policies"]:
        entity: dict[str, Any] = entity_of({level: each["values"][0] for level, each in policy["resources"].items()})
        accesses = users.setdefault("/".join((entity["type"], *entity["parts"])), {})
        for item in policy["policyItems"]:
            for access in item["accesses"]:
                accesses.setdefault(access["type"], {}).update(dict.fromkeys(item["users"], True))
    (directory / "data.json").write_bytes(msgspec.json.encode({"users": users}))
    (directory / "checks.rego").write_text(_RULES)
    with listen("127.0.0.1", 0, backlog=1, advice="") as free:
        port = free.getsockname()[1]
    arguments = ["run", "--server", "--addr", f"127.0.0.1:{port}", "--log-level", "error", "--disable-telemetry"]
    files = [str(directory / "data.json"), str(directory / "checks.rego")]
    with _running([str(program), *arguments, *files], port, env={**os.environ, "GOMAXPROCS": "1"}) as service:
        yield service


@contextmanager
def echo() -> Iterator[Service]:
    """Run the bare server."""
    with listen("127.0.0.1", 0, backlog=128, advice="") as listening:
        port, descriptor = listening.getsockname()[1], listening.fileno()
        command = [sys.executable, "-m", "benchmarks.peer", "--echo", str(descriptor)]
        with _running(command, port, pass_fds=[descriptor]) as service:
            yield service


@contextmanager
def _running(command: list[str], port: int, **options: Any) -> Iterator[Service]:
    process = subprocess.Popen(command, **options)
    try:
        service = Service(process, port)
        until = time.monotonic() + 30
        while True:
            try:
                asyncio.run(_connect(port))
                break
            except OSError:
                if time.monotonic() > until or process.poll() is not None:
                    sys.exit(f"`{command[0]}` does not listen")
                time.sleep(0.1)
        yield service
    finally:
        process.terminate()
        process.wait(20)


async def _connect(port: int) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()


async def _echo(descriptor: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(_Echo, sock=socket.socket(fileno=descriptor))
    await server.serve_forever()


class _Echo(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(_ANSWER)


if __name__ == "__main__":
    main()
