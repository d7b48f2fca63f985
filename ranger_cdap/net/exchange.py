"""HTTP requests bounded in time and size; callers interpret the responses."""

from __future__ import annotations

import logging
import ssl
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import requests
import urllib3
from requests.adapters import DEFAULT_POOLSIZE, HTTPAdapter
from requests.auth import AuthBase, HTTPBasicAuth

from ranger_cdap.config import Address, Secret
from ranger_cdap.errors import ConfigError
from ranger_cdap.forks import restart_after_fork
from ranger_cdap.net.failures import RequestFailure, failure_of
from ranger_cdap.net.tls import TlsFiles

_log = logging.getLogger(__name__)

CONNECT_SECONDS: Final = 5.0
_LARGEST_ERROR: Final = 1 << 20
_SLOWEST_ANSWER: Final = 10  # read time-outs: an answer that comes byte by byte ends here
_PIECE: Final = 1 << 18


class NoResponse(Exception):
    """No response was received."""

    def __init__(self, failure: RequestFailure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


class TooLarge(Exception):
    """The response exceeds the size limit and was not read."""


class TooSlow(Exception):
    """The response took too long and was not read to its end."""


class Response(NamedTuple):
    """Response of a server: status, body, and the header `WWW-Authenticate`, which names accepted ways to sign in."""

    status: int
    body: bytes
    challenge: str = ""

    @property
    def wants_kerberos(self) -> bool:
        """Return true if the server rejects the request and accepts nothing but Kerberos (SPNEGO)."""
        challenge = self.challenge.lower()
        return self.status == HTTPStatus.UNAUTHORIZED and "negotiate" in challenge and "basic" not in challenge


class VerifyingAdapter(HTTPAdapter):
    """HTTPS adapter with one TLS context, without the authorities and settings bundled with `requests`.

    The context may be replaced during requests: pending ones finish with the old one.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__()

    def replace_context(self, context: ssl.SSLContext) -> None:
        """Use this context for new connections."""
        self._context = context
        self.init_poolmanager(DEFAULT_POOLSIZE, DEFAULT_POOLSIZE)

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        """Give every connection the context."""
        super().init_poolmanager(*args, **options, ssl_context=self._context)

    def cert_verify(self, conn: Any, url: str, verify: Any, cert: Any) -> None:
        """Leave verification to the context; `requests` would also trust its bundled authorities."""
        conn.cert_reqs = "CERT_REQUIRED"


class BasicAuth(AuthBase):
    """Basic authentication with the current name and password of each request."""

    def __init__(self, username: str, password: Secret) -> None:
        self._username = username
        self._password = password

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header."""
        HTTPBasicAuth(self._username.encode(), self._password.reveal().encode())(request)
        return request


class Exchange:
    """HTTP session with the certificates of `tls`, reloaded when they change; thread-safe.

    Proxies and credentials of the environment (`HTTP_PROXY`, `.netrc`) are not used and redirects not followed:
    a password or token must reach no other server. If changed certificates are unusable, the previous ones stay in use.

    Raises:
        ConfigError: a certificate file is unusable.
    """

    def __init__(self, tls: TlsFiles, *, read_timeout: float) -> None:
        self._tls, self._tls_files = tls, tls.watched()
        self._adapter = VerifyingAdapter(tls.context())
        self._timeout = (CONNECT_SECONDS, read_timeout)
        self._slowest = read_timeout * _SLOWEST_ANSWER
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.mount("https://", self._adapter)
        # A browser's name would make Ranger Admin ask for its CSRF header.
        self.session.headers.update({"User-Agent": "ranger-cdap", "Accept-Encoding": "identity"})
        restart_after_fork(self)

    def after_fork(self) -> None:
        """Connect again: over the parent's connections, answers would reach either process."""
        for adapter in self.session.adapters.values():
            assert isinstance(adapter, HTTPAdapter)
            adapter.init_poolmanager(DEFAULT_POOLSIZE, DEFAULT_POOLSIZE)

    def close(self) -> None:
        """Close the session."""
        self.session.close()

    def ask(
        self,
        url: Address,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None,
        body: bytes | None,
        headers: Mapping[str, str] | None,
        largest: int,
    ) -> Response:
        """Send a request and return the response; at most `largest` bytes of a successful response are read.

        Raises:
            NoResponse: no response was received.
            TooLarge: it exceeds the limit.
            TooSlow: it takes longer than ten read time-outs.
        """
        if path and not path.startswith("/"):
            raise ValueError("a path without a slash could name another server")
        self._tls_files.if_changed(self._reload)
        deadline = time.monotonic() + self._slowest
        try:
            with self.session.request(
                method,
                url + path,
                params=query,
                data=body,
                headers=headers,
                timeout=self._timeout,
                allow_redirects=False,
                stream=True,
            ) as response:
                bound = largest if response.status_code == HTTPStatus.OK else _LARGEST_ERROR
                return Response(
                    response.status_code,
                    b"".join(_bounded(response, bound, deadline, f"`{method} {path}`")),
                    response.headers.get("WWW-Authenticate", ""),
                )
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as e:
            raise NoResponse(failure_of(e)) from None

    def _reload(self) -> None:
        try:
            context = self._tls.context()
        except ConfigError as e:
            _log.warning("%s; the previous certificates stay in use", e)
            return
        self._adapter.replace_context(context)
        _log.info("certificates were reloaded: %s", ", ".join(self._tls.names))


def _bounded(response: requests.Response, bound: int, deadline: float, call: str) -> Iterator[bytes]:
    """Yield the body in pieces as they arrive; `read1` because `iter_content` waits for whole pieces."""
    read = 0
    while piece := response.raw.read1(_PIECE, decode_content=True):
        read += len(piece)
        if read > bound:
            raise TooLarge(f"the response to {call} exceeds {bound} bytes and was not read")
        if time.monotonic() > deadline:
            raise TooSlow(f"the response to {call} is too slow and was not read to its end")
        yield piece
