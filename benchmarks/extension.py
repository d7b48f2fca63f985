"""Round trip of CDAP's extension with many threads, against the bare round trip over loopback.

`python -m benchmarks.extension` (in `make bench`) asks one small server, which answers every request with the same
bytes, in turns: by threads that each write a request and read the answer, and by threads that call `enforce` of the
extension, which keeps its connections. Nothing is remembered: every call goes over the network. What is left between
the two is what the extension costs: with a pause after each answer, as in a CDAP with many users, and without one,
where the threads wait for the processors, and the ratio is that of the processor time of both sides.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import msgspec

from benchmarks.service import AUTHORIZATION, SECRET
from ranger_cdap.wire.cdap_wire import EnforceReply, HelloReply
from tests.extension.driver import Extension

SERVER = Path(__file__).parents[1] / "jvm" / "load" / "BareServer.java"
THREADS = 200
PAUSES = (100.0, 0.0)
"""Milliseconds after each answer."""
ROUNDS = 5
WANTED = 1.3
"""Times the bare round trip."""

HELLO = HelloReply("1", "cdap", "default", "everything", "fresh", "off", [], "1")
DECISION = EnforceReply(allowed=True, enforced=True, reason="", missing=[], cacheable=False, generation="1")
REPLY = msgspec.json.encode({**msgspec.to_builtins(HELLO), **msgspec.to_builtins(DECISION)})
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(REPLY), REPLY)
BODY = '{"principal":{"name":"user 1","type":"USER"},"entity":{"type":"NAMESPACE","parts":["ns1"]},"permissions":["x"]}'


def main() -> None:
    """Print the rates and times of both, and their ratio."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=4.0, help="of each turn")
    options.add_argument("--threads", type=int, default=THREADS)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as directory, bare_server(Path(directory)) as port:
        secret = Path(directory, "secret")
        secret.write_text(SECRET)
        secret.chmod(0o600)
        head = (
            f"POST /cdap/v1/enforce HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: {AUTHORIZATION}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(BODY)}\r\n\r\n"
        )
        bare = {"bare": head + BODY, "port": port, "answer_length": len(ANSWER)}
        properties = {"url": f"http://127.0.0.1:{port}", "cache.seconds": "0", "read.timeout.ms": "20000"}
        properties |= {f"{role}.secret.file": str(secret) for role in ("enforce", "audit")}
        with Extension("6.11", "-Xmx512m") as extension:
            extension.start(properties)
            for pause in PAUSES:
                load = {"threads": given.threads, "seconds": given.seconds, "pause_ms": pause}
                turns = [turn(extension, load, bare) for _ in range(ROUNDS + 1)][1:]
                print_turns(given.threads, pause, turns)


def turn(extension: Extension, load: Mapping[str, object], bare: Mapping[str, object]) -> dict[str, dict[str, float]]:
    """Measure both, one after the other."""
    return {"bare": extension.command("load", **load, **bare), "extension": extension.command("load", **load)}


def print_turns(threads: int, pause: float, turns: Sequence[Mapping[str, Mapping[str, float]]]) -> None:
    """Print the middle of the turns, and the ratios of the round trips in each."""
    print(f"CDAP's extension, {threads} threads, connections kept, {pause:g} ms after each answer, {len(turns)} turns")
    for name in ("bare", "extension"):
        of_turns = [one[name] for one in turns]
        rate, p50, p99 = (median(one[key] for one in of_turns) for key in ("per_second", "p50_ms", "p99_ms"))
        print(f"{name:>12}: {rate:>9,.0f}/s   p50 {p50:.3f} ms   p99 {p99:.2f} ms")
    middle = [one["extension"]["p50_ms"] / one["bare"]["p50_ms"] for one in turns]
    # Without a pause the mean round trip is the number of threads by the rate.
    mean = [one["bare"]["per_second"] / one["extension"]["per_second"] for one in turns]
    for name, ratios in (("median", middle), *((("mean", mean),) if not pause else ())):
        each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
        print(f"{name:>12}: {median(ratios):.2f} times the bare round trip ({each}); wanted {WANTED}", flush=True)


@contextmanager
def bare_server(directory: Path) -> Iterator[int]:
    """Run the server, and yield its port."""
    answer = directory / "answer"
    answer.write_bytes(ANSWER)
    command = ["java", str(SERVER), str(answer)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.communicate("\n", timeout=20)


if __name__ == "__main__":
    main()
