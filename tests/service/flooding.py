"""A hostile program: `python -m tests.service.flooding PORT ATTACK` attacks until its input ends.

Then it prints how often each status came. `attacked` runs it.

It may ask as a caller of the settings, one that has no special role, and from this machine.
"""

from __future__ import annotations

import json
import select
import selectors
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count

from tests.service.fixtures import basic

AUTHORIZE, MULTI = "/authz/v1/authorize", "/authz/v1/authorizeMulti"
NAMED = {"serviceName": "cdapdev"}
ME = {"name": "evaluate"}
IDLE_CONNECTIONS = 1_013


class Attacker:
    """Where it attacks, and what it was answered, by status; 0 where the connection ended."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.answers: Counter[int] = Counter()
        self.over = threading.Event()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def ask_again_and_again(self, requests: Iterator[bytes]) -> None:
        """One request after another, on connections that are kept as long as they live."""
        connection: socket.socket | None = None
        while not self.over.is_set():
            try:
                connection = connection or self.connect()
                connection.sendall(next(requests))
                answered = status_of(connection)
            except OSError:
                answered = 0
            self.answers[answered] += 1
            if answered in (0, 408, 413) and connection is not None:
                connection.close()
                connection = None


def status_of(connection: socket.socket) -> int:
    """The status of the next answer, which is read whole."""
    got = b""
    while b"\r\n\r\n" not in got:
        if not (piece := connection.recv(65_536)):
            return 0
        got += piece
    head, _, body = got.partition(b"\r\n\r\n")
    length = next(
        (int(line.partition(b":")[2]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    while len(body) < length and (piece := connection.recv(65_536)):
        body += piece
    return int(head.split(b" ", 2)[1])


def request(path: str, body: bytes, *, who: str = "evaluate", method: str = "POST", length: int | None = None) -> bytes:
    lines = [
        f"{method} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        f"Authorization: {basic(who)}",
        "Content-Type: application/json",
        f"Content-Length: {len(body) if length is None else length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def asking(path: str, body: object) -> bytes:
    return request(path, json.dumps(body).encode())


def access(dataset: str) -> dict[str, object]:
    return {"resource": {"name": f"dataset:cdap/ns1/{dataset}"}, "permissions": ["read"]}


def idle(attacker: Attacker) -> None:
    """Connections that each ask once, and are opened again as soon as they are closed."""
    asks = request("/health/live", b"", method="GET")
    held: list[socket.socket] = []
    while not attacker.over.is_set():
        while len(held) < IDLE_CONNECTIONS and not attacker.over.is_set():
            with suppress(OSError):
                connection = attacker.connect()
                held.append(connection)
                connection.sendall(asks)
                attacker.answers[status_of(connection)] += 1
        closed = set(ended(held))
        held = [connection for connection in held if connection not in closed]
        for connection in closed:
            connection.close()


def ended(held: list[socket.socket]) -> list[socket.socket]:
    """Those that the service has closed; waits a moment for one."""
    poll = select.poll()
    by_number = {connection.fileno(): connection for connection in held}
    for number in by_number:
        poll.register(number, select.POLLIN)
    return [by_number[number] for number, _ in poll.poll(10)]


def dripping(attacker: Attacker) -> None:
    """Heads that never end, and bodies that never come."""
    beginnings = [b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ", request(AUTHORIZE, b"{", length=1_000)]
    held: list[socket.socket] = []
    while not attacker.over.is_set():
        while len(held) < 600:
            with suppress(OSError):
                held.append(attacker.connect())
                held[-1].sendall(beginnings[len(held) % 2])
                attacker.answers[1] += 1
        for connection in ended(held):
            held.remove(connection)
            connection.close()


def streaming(begin: bytes, more: bytes, connections: int) -> Callable[[Attacker], None]:
    """Connections that send without an end, read nothing, and are opened again as soon as they are closed."""

    def attack(attacker: Attacker) -> None:
        with selectors.DefaultSelector() as writable:
            while not attacker.over.is_set():
                while len(writable.get_map()) < connections:
                    with suppress(OSError):
                        connection = attacker.connect()
                        connection.sendall(begin)
                        connection.setblocking(False)
                        writable.register(connection, selectors.EVENT_WRITE)
                        attacker.answers[1] += 1
                for key, _ in writable.select(0.1):
                    assert isinstance(key.fileobj, socket.socket)
                    try:
                        key.fileobj.send(more)
                    except BlockingIOError:
                        pass
                    except OSError:
                        writable.unregister(key.fileobj)
                        key.fileobj.close()

    return attack


def handshaking(attacker: Attacker) -> None:
    """One connection after another that ends with its handshake."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    while not attacker.over.is_set():
        with suppress(OSError), attacker.connect() as plain, context.wrap_socket(plain):
            attacker.answers[1] += 1


def again(body: bytes, path: str = AUTHORIZE, who: str = "evaluate") -> Callable[[], Iterator[bytes]]:
    def requests() -> Iterator[bytes]:
        one = request(path, body, who=who)
        while True:
            yield one

    return requests


def costly_names() -> Iterator[bytes]:
    """Ever new names that nearly match 400 wildcards of one policy."""
    for n in count():
        yield asking(AUTHORIZE, {"user": ME, "access": access("a" * (1_000 - len(str(n))) + str(n)), "context": NAMED})


def long_names() -> Iterator[bytes]:
    """Ever new names of the greatest length, which nobody is to remember."""
    for n in count():
        yield asking(AUTHORIZE, {"user": ME, "access": access(f"{n:x<8000}"), "context": NAMED})


def wrong_secrets() -> Iterator[bytes]:
    for n in count():
        yield request(AUTHORIZE, b"{}", who=f"evaluate{n}")


def repeated(fields: int) -> bytes:
    names = ",".join(f'"f{n}":"\\u0061"' for n in range(fields))
    return f'{{"user":{{"name":"evaluate","attributes":{{{names},"f0":1}}}}}}'.encode()


def circumstances(keys: int, accesses: int) -> bytes:
    context = NAMED | {"additionalInfo": {f"key-{n}": "x" for n in range(keys)}}
    return json.dumps({"user": ME, "accesses": [access(f"d{n}") for n in range(accesses)], "context": context}).encode()


def visible(entities: int) -> bytes:
    named = [{"type": "DATASET", "parts": ["ns1", f"d{n}"]} for n in range(entities)]
    return json.dumps({"principal": {"name": "alice"}, "entities": named}).encode()


FEW, MANY = 4, 64
FLOODS: dict[str, tuple[int, Callable[[], Iterator[bytes]]]] = {
    "wildcards": (FEW, costly_names),
    "long names": (FEW, long_names),
    "12,000 fields, one twice": (FEW, again(repeated(12_000))),
    "50,000 circumstances": (FEW, again(circumstances(50_000, 200), MULTI)),
    "1,000 circumstances, 2,000 accesses": (FEW, again(circumstances(1_000, 2_000), MULTI)),
    "2,000 accesses": (MANY, again(circumstances(0, 2_000), MULTI)),
    "deep": (FEW, again(b"[" * 200_000)),
    "questions": (MANY, again(json.dumps({"user": ME, "access": access("kv"), "context": NAMED}).encode())),
    "wrong secrets": (MANY, wrong_secrets),
    "5,000 entities": (MANY, again(visible(5_000), "/cdap/v1/visible", "enforce")),
}
_CHUNKED = b"POST /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
HELD: dict[str, tuple[int, Callable[[Attacker], None]]] = {
    # threads, and the attack of each
    "idle": (1, idle),
    "dripping": (1, dripping),
    "pipelining": (1, streaming(b"", b"GET /health/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 300, 60)),
    "endless trailers": (1, streaming(_CHUNKED + b"0\r\n", b"A:\r\n" * 3_000, 8)),
    "bodies after the answer": (1, streaming(_CHUNKED, b"1\r\nx\r\n" * 3_000, 8)),
}
OVER_TLS = "handshakes"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@contextmanager
def attacked(port: int, attack: str) -> Iterator[Counter[int]]:
    """An attack on that port; the answers that it got come with its end."""
    answers: Counter[int] = Counter()
    with subprocess.Popen(
        [sys.executable, "-m", "tests.service.flooding", str(port), attack],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": ":".join(filter(None, sys.path))},
    ) as hostile:
        try:
            assert hostile.stdout is not None
            assert hostile.stdout.readline() == "attacks\n"
            yield answers
            said, _ = hostile.communicate(timeout=60)
        finally:
            hostile.kill()
    answers.update({int(status): count for status, count in json.loads(said).items()})


def main() -> None:
    attacker = Attacker(int(sys.argv[1]))
    attack = sys.argv[2]
    if attack in FLOODS:
        threads, requests = FLOODS[attack]
        works = [threading.Thread(target=attacker.ask_again_and_again, args=(requests(),)) for _ in range(threads)]
    else:
        threads, work_of = {**HELD, OVER_TLS: (FEW, handshaking)}[attack]
        works = [threading.Thread(target=work_of, args=(attacker,)) for _ in range(threads)]
    for work in works:
        work.daemon = True
        work.start()
    while not attacker.answers:
        time.sleep(0.01)
    say("attacks")
    sys.stdin.read()
    attacker.over.set()
    say(json.dumps(attacker.answers))


if __name__ == "__main__":
    main()
