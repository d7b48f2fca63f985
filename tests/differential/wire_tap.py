"""What goes over the wire between a plugin and its Ranger Admin: a server between them that notes every GET."""

from __future__ import annotations

import json
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

_NOT_PASSED_ON = {"connection", "content-length", "transfer-encoding", "date", "server"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that was passed on, and what came back; `document` is None without a body."""

    path: str
    query: dict[str, str]
    status: int
    document: Any


class WireTap(AbstractContextManager["WireTap"]):
    """Passes on GET requests to the address, with all headers, and notes them in their order."""

    def __init__(self, url: str) -> None:
        self.seen: list[Exchange] = []
        where, seen = urlsplit(url), self.seen

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                connection = HTTPConnection(where.hostname or "", where.port, timeout=30)
                try:
                    connection.request("GET", self.path, headers=dict(self.headers.items()))
                    answer = connection.getresponse()
                    body = answer.read()
                finally:
                    connection.close()
                asked = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(asked.query).items()}
                seen.append(Exchange(asked.path, query, answer.status, json.loads(body) if body else None))
                self.send_response(answer.status)
                for name, value in answer.getheaders():
                    if name.lower() not in _NOT_PASSED_ON:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, name="wire-tap")
        self._thread.start()

    @property
    def url(self) -> str:
        """Where the plugin is sent."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
