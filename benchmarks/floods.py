"""Latency of an honest caller while one hostile program floods the decision service, beside the same caller alone.

`python -m benchmarks.floods` (in `make bench`) prints a line per flood: the medians over five runs of p50, p99 and the
worst, each beside that of the same caller alone just before. One process floods, from the same machine.
"""

from __future__ import annotations

import argparse
import http.client
import json
import ssl
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.certificates import Authority
from tests.service.fixtures import basic
from tests.service.flooding import OVER_TLS, attacked
from tests.service.serve_process import ENFORCE_KV, configuration, ranger_admin, serve

FLOODS = ("dripping", "pipelining", "endless trailers", "bodies after the answer", "2,000 accesses", "5,000 entities")
RUNS = 5
QUESTIONS = 500
WANTED = "p99 at most 5 times, worst at most 20 times"
HEADERS = {"Authorization": basic("enforce"), "Content-Type": "application/json"}
BODY = json.dumps(ENFORCE_KV)


def main() -> None:
    """Print one line per flood."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(f"medians of {RUNS} runs of {QUESTIONS} checks, in ms: alone, flooded, times; wanted: {WANTED}")
    authority = Authority("benchmark")
    with tempfile.TemporaryDirectory() as directory, ranger_admin() as (server, _):
        certificate, key = authority.server().put(Path(directory, "service.pem"), Path(directory, "service.key"))
        tls = {"service__tls_certificate": f'"{certificate}"', "service__tls_key": f'"{key}"'}
        context = ssl.create_default_context(cadata=authority.pem.decode())
        for name, settings, trusts in (("plain", {}, None), ("tls", tls, context)):
            folder = Path(directory, name)
            folder.mkdir()
            with serve(configuration(folder, server.url, **settings), folder, quiet=True) as running:
                latencies(running.port, trusts)
                for flood in (OVER_TLS,) if trusts else FLOODS:
                    measure(running.port, trusts, flood)


def measure(port: int, context: ssl.SSLContext | None, flood: str) -> None:
    """Print the line of one flood."""
    alone, flooded = [], []
    for _ in range(RUNS):
        alone.append(latencies(port, context))
        with attacked(port, flood):
            flooded.append(latencies(port, context))
    line = f"{flood:>26}"
    for name, place in (("p50", QUESTIONS // 2), ("p99", QUESTIONS * 99 // 100), ("worst", -1)):
        quiet, meanwhile = ([1_000 * run[place] for run in runs] for runs in (alone, flooded))
        times = median(there / here for here, there in zip(quiet, meanwhile, strict=True))
        line += f"  {name} {median(quiet):6.1f} {median(meanwhile):7.1f} {times:5.1f}x"
    print(line, flush=True)


def latencies(port: int, context: ssl.SSLContext | None) -> list[float]:
    """Return the seconds of each answer, shortest first."""
    connection = (
        http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=context)
        if context
        else http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    )
    found = []
    for _ in range(QUESTIONS):
        asked = time.perf_counter()
        connection.request("POST", "/cdap/v1/enforce", BODY, HEADERS)
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["allowed"]) == (200, True)
        found.append(time.perf_counter() - asked)
    connection.close()
    return sorted(found)


if __name__ == "__main__":
    main()
