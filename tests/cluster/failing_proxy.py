"""A proxy before an S3 server that fails now and then: `python -m tests.cluster.failing_proxy BEHIND SEED`.

In a process of its own: delta-rs holds Python's lock while it lists. It prints its port; each line of its input begins
failing or ends it, and is answered by how often what has failed, and how entries of Delta's log were written.
"""

from __future__ import annotations

import http.client
import json
import re
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random

READ, WRITTEN = 0.02, 0.2
"""Which share of the requests fails."""
LOG_ENTRY = re.compile(r".*/_delta_log/[0-9]{20}\.json(\?.*)?")


class Failing(ThreadingHTTPServer):
    """Hands requests to an S3 server, and fails as `random` draws while `is_failing`."""

    daemon_threads = True

    def __init__(self, behind: str, random: Random) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind, self.random = behind, random
        self.is_failing = False
        self.failed = Counter[str]()
        self.commits = Counter[str]()

    def handle_error(self, *_: object) -> None:
        """Say nothing: a client went away."""

    def draw(self, command: str) -> tuple[str, int] | None:
        """When a request fails, and with what; `None`: it does not."""
        if not self.is_failing or self.random.random() > (READ if command in {"GET", "HEAD"} else WRITTEN):
            return None
        return self.random.choice(["before", "after"]), self.random.choice([500, 503])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Failing

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.command in {"PUT", "POST"} and LOG_ENTRY.fullmatch(self.path):
            self.server.commits[self.headers.get("If-None-Match", "unconditional")] += 1
        failure = self.server.draw(self.command)
        if failure and failure[0] == "before":
            self._fail(failure)
            return
        connection = http.client.HTTPConnection(self.server.behind, timeout=30)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            found = answer.read()
        finally:
            connection.close()
        if failure:
            self._fail(failure)
            return
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in {"connection", "transfer-encoding", "content-length"}:
                self.send_header(name, value)
        length = answer.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(found))
        self.send_header("Content-Length", length)
        self.end_headers()
        self.wfile.write(found)

    do_PUT = do_POST = do_DELETE = do_HEAD = do_GET  # noqa: N815

    def _fail(self, failure: tuple[str, int]) -> None:
        when, code = failure
        self.server.failed[f"{self.command} {when}"] += 1
        self.send_response_only(code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main(behind: str, seed: str) -> None:
    with Failing(behind, Random(seed)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdout.write(f"{server.server_port}\n")
        sys.stdout.flush()
        for _ in sys.stdin:
            server.is_failing = not server.is_failing
            sys.stdout.write(f"{json.dumps([server.failed, server.commits])}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
