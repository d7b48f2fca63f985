"""A simulated older Ranger Admin: a proxy before the embedded one that drops what a release does not have.

No older Ranger was run. What each release has is read from Ranger's code: `RangerPolicy.additionalResources` and the
condition `_expression` came with 2.4.0, `RangerServiceDef.markerAccessTypes` with 2.5.0; fields that a release does not
have are ignored in requests, as recorded of 2.9.0 for fields that nobody has.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import requests

Json = dict[str, Any]
Release = tuple[int, int]

SINCE: Final[dict[str, Release]] = {"additionalResources": (2, 4), "_expression": (2, 4), "markerAccessTypes": (2, 5)}
_PASSED: Final = ("Authorization", "Content-Type", "Accept")


def dropped(document: Any, release: Release) -> Any:
    """The document without the fields, and the condition, that the release does not have."""
    gone = {name for name, since in SINCE.items() if release < since}

    def walk(value: Any) -> Any:
        if isinstance(value, list):
            return [walk(one) for one in value if not (isinstance(one, dict) and one.get("name") in gone)]
        if isinstance(value, dict):
            return {name: walk(one) for name, one in value.items() if name not in gone}
        return value

    return walk(document)


@contextmanager
def older_ranger(url: str, release: Release) -> Iterator[str]:
    """Serve the Ranger Admin at `url` as one of an older release; the address is on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def _forward(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self._without(self.rfile.read(length))
            headers = {name: self.headers[name] for name in _PASSED if name in self.headers}
            answer = requests.request(self.command, url + self.path, data=body, headers=headers, timeout=30)
            content = self._without(answer.content)
            self.send_response(answer.status_code)
            self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_DELETE = _forward  # noqa: N815 - names of http.server

        def _without(self, content: bytes) -> bytes:
            try:
                return json.dumps(dropped(json.loads(content), release)).encode()
            except ValueError:
                return content

        log_message: Callable[..., None] = lambda *_: None

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
