"""Speed of the decision service over loopback, against an endpoint that decides nothing and against the target.

`python -m benchmarks.service` (in `make bench`) prints a line per measurement. The service is a process of its own, as
in production, with audit records written to a file; the client is written in Java. `--soak SECONDS` sends 500 requests
per second for that time and compares the resident memory of the last minute with that of the second minute.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.memory import resident
from benchmarks.workload import NO_ROLES, requests, service_policies

CLIENT = Path(__file__).parents[1] / "jvm" / "load" / "LoadClient.java"
POLICIES = 1_000
CHECKS = 20_000
BATCH = 500
BATCHES = 200
SECRET = "benchmark-secret-0123456789"
AUTHORIZATION = "Basic " + base64.b64encode(f"bench:{SECRET}".encode()).decode()
VERSION = "-SNAPSHOT"
MINUTE = 60
# Measured before this work and to be reached: rates per second, and milliseconds.
GOALS = {
    "checks": "single checks per second",
    "p99": "p99 at 1,000 per second, ms",
    "visible": "entities per second, visible in batches",
}
BEFORE = {"checks": 3_500, "p99": 8.0, "visible": 54_000}
WANTED = {"checks": 6_000, "p99": 2.0, "visible": 200_000}


def main() -> None:
    """Print one line per measurement."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--soak", type=int, default=0, metavar="SECONDS", help=f"at least {3 * MINUTE}")
    options.add_argument("--seconds", type=float, default=10.0, help="of each other measurement")
    given = options.parse_args()
    if 0 < given.soak < 3 * MINUTE:
        options.error(f"--soak takes at least {3 * MINUTE} seconds: it compares the last minute with the second one")
    with tempfile.TemporaryDirectory() as directory, policies_served() as url, served(Path(directory), url) as service:
        checks, batches = Path(directory, "checks"), Path(directory, "batches")
        checks.write_bytes(b"\n".join(single_checks()))
        batches.write_bytes(b"\n".join(visible_batches()))
        print(f"decision service, {POLICIES:,} policies, audit records to a file; client: Java, keep-alive connections")
        run_client(service, "/cdap/v1/enforce", checks, 8, 5, 0)  # warm up connections, caches and the client's JIT
        nothing = run_client(service, "/cdap/v1/hello", handshake_file(Path(directory, "hello")), 16, given.seconds, 0)
        print_result("hello, which decides nothing", nothing)
        flat_out = run_client(service, "/cdap/v1/enforce", checks, 16, given.seconds, 0)
        of_hello = flat_out["per_second"] / nothing["per_second"]
        print_result("single checks, as many as go", flat_out, f"{of_hello:.0%} of hello")
        paced = run_client(service, "/cdap/v1/enforce", checks, 16, given.seconds, 1_000)
        print_result("single checks, 1,000/s", paced)
        seen = run_client(service, "/cdap/v1/visible", batches, 2, given.seconds, 0)
        rate = seen["per_second"] * BATCH
        print_result(f"visible, batches of {BATCH}", seen, f"{rate:,.0f} entities/s")
        print_goals({"checks": flat_out["per_second"], "p99": paced["p99_ms"], "visible": rate})
        if given.soak:
            soak(service, checks, given.soak)


class Service:
    """The measured process."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process = process
        self.port = port

    @property
    def resident(self) -> float:
        """Return the resident memory in megabytes."""
        return resident(self.process.pid)

    @property
    def cpu_seconds(self) -> float:
        """Return the CPU time used so far, in seconds."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_client(
    service: Service, path: str, bodies: Path, connections: int, seconds: float, rate: float
) -> dict[str, Any]:
    """Run the client and return its measurements."""
    used = service.cpu_seconds
    arguments = ["127.0.0.1", service.port, path, AUTHORIZATION, bodies, connections, seconds, rate]
    done = subprocess.run(["java", str(CLIENT), *map(str, arguments)], check=True, capture_output=True, text=True)
    measured: dict[str, Any] = json.loads(done.stdout)
    measured["cpu_us"] = (service.cpu_seconds - used) / max(1, measured["requests"]) * 1e6
    return measured


def print_result(what: str, measured: dict[str, Any], note: str = "") -> None:
    """Print one line."""
    print(
        f"{what:>32}: {measured['per_second']:>9,.0f}/s"
        f"  p50 {measured['p50_ms']:.2f} ms  p99 {measured['p99_ms']:.2f} ms"
        f"  max {measured['max_ms']:.1f} ms"
        f"  cpu {measured['cpu_us']:.0f} us each  failed {measured['failed']}  {note}",
        flush=True,
    )


def print_goals(now: Mapping[str, float]) -> None:
    """Print what people wait for: before, now and wanted."""
    print(f"{'what people wait for':<44} {'before':>9} {'now':>9} {'wanted':>9}")
    for key, what in GOALS.items():
        texts = (_text(figures[key]) for figures in (BEFORE, now, WANTED))
        print(f"{what:<44} {' '.join(f'{text:>9}' for text in texts)}", flush=True)


def _text(figure: float) -> str:
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.2f}"


def soak(service: Service, checks: Path, seconds: int) -> None:
    """Compare the memory of the last minute with that of the second minute, under 500 checks per second."""
    held: list[float] = []
    over = threading.Event()

    def watch() -> None:
        while not over.wait(1):
            held.append(service.resident)

    watcher = threading.Thread(target=watch)
    watcher.start()
    measured = run_client(service, "/cdap/v1/enforce", checks, 16, seconds, 500)
    over.set()
    watcher.join()
    early, late = held[MINUTE : 2 * MINUTE], held[-MINUTE:]
    growth = (sum(late) / len(late)) / (sum(early) / len(early)) - 1
    print_result(
        f"soak of {seconds} s, 500/s", measured, f"{early[0]:.0f} MB, {growth:+.1%} from second to last minute"
    )


def single_checks() -> Iterator[bytes]:
    """Return checks of named entities, by named users and others."""
    for n, asked in enumerate(msgspec.json.Decoder(dict[str, Any]).decode_lines(requests(CHECKS, POLICIES))):
        entity = entity_of(asked["resource"])
        permission = ("STANDARD.GET", "STANDARD.UPDATE", "STANDARD.DELETE", "STANDARD.CREATE")[n % 4]
        yield msgspec.json.encode({"principal": {"name": asked["user"]}, "entity": entity, "permissions": [permission]})


def visible_batches() -> Iterator[bytes]:
    """Return lists of entities, as in CDAP's visibility requests."""
    entities = [
        entity_of(line["resource"])
        for line in msgspec.json.Decoder(dict[str, Any]).decode_lines(requests(CHECKS, POLICIES))
    ]
    draw = random.Random(3)
    for n in range(BATCHES):
        yield msgspec.json.encode({"principal": {"name": f"user{n}"}, "entities": draw.sample(entities, BATCH)})


def handshake_file(path: Path) -> Path:
    """Write a file with the body of a handshake."""
    path.write_bytes(msgspec.json.encode({"extension": "benchmark"}))
    return path


def entity_of(levels: dict[str, str]) -> dict[str, Any]:
    """Return a resource as an entity in CDAP's terms."""
    leaf = next(reversed(levels))
    name = levels[leaf]
    match leaf:
        case "program":
            kind, _, own = name.partition(".")
            parts = [levels["namespace"], levels["application"], VERSION, kind, own]
            return {"type": "PROGRAM", "parts": parts}
        case "application":
            return {"type": "APPLICATION", "parts": [levels["namespace"], name, VERSION]}
        case "artifact":
            return {"type": "ARTIFACT", "parts": [levels["namespace"], name, "1.0.0"]}
        case "dataset":
            return {"type": "DATASET", "parts": [levels["namespace"], name]}
    return {"type": "NAMESPACE", "parts": [levels["namespace"]]}


@contextmanager
def served(directory: Path, ranger_url: str) -> Iterator[Service]:
    """Run the decision service as a process."""
    (directory / "secret").write_text(SECRET)
    (directory / "secret").chmod(0o600)
    (directory / "ranger-cdap.toml").write_text(f"""
[ranger]
url = "{ranger_url}"
[plugin]
username = "plugin"
cache_dir = "{directory}/cache"
use_ranger_groups = false
[audit]
sinks = ["file"]
file = "{directory}/audit.jsonl"
spool_dir = "{directory}/spool"
[service]
port = 0
events_dir = "{directory}/events"
[[service.callers]]
name = "bench"
roles = ["enforce"]
secret = "file:{directory}/secret"
""")
    (directory / "ranger-cdap.toml").chmod(0o600)
    command = [sys.executable, "-m", "ranger_cdap", "--config", str(directory / "ranger-cdap.toml"), "serve", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        yield Service(process, int(line.split(";")[0].rsplit(":", 1)[1]))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


@contextmanager
def policies_served() -> Iterator[str]:
    """Yield the address of a Ranger Admin with one set of policies."""
    answers = {
        "/service/plugins/secure/policies/download/": service_policies(POLICIES),
        "/service/roles/secure/download/": NO_ROLES,
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = next((body for path, body in answers.items() if self.path.startswith(path)), b"")
            self.send_response(200 if body else 404)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


if __name__ == "__main__":
    main()
