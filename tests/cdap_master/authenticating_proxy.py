"""A proxy before a CDAP in the mode `PROXY`: it knows one account by its token, and sends CDAP the account's name."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import requests

from tests.cdap_master.in_memory_cdap import CdapUser


@dataclass(frozen=True)
class Proxy:
    """Its address, and the file with the account's token."""

    url: str
    token_file: Path


@contextmanager
def proxy_for(account: CdapUser, directory: Path) -> Iterator[Proxy]:
    """Pass on what the account asks with its token; everything else is answered 401."""
    token = secrets.token_urlsafe(24)
    token_file = directory / "token"
    token_file.touch(mode=0o600)
    token_file.write_text(token, encoding="utf-8")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.headers["Authorization"] == f"Bearer {token}":
                self._send(account.ask(f"GET {self.path}"))
            else:
                self.send_error(401)

        def _send(self, answer: requests.Response) -> None:
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "text/plain"))
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, *_: object) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Proxy(f"http://127.0.0.1:{server.server_port}", token_file)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
