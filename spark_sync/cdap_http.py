"""The HTTP below every call to CDAP: a token, time-outs, bounds, retries; failures are typed errors.

Only for calls that change nothing: each may be sent again.
"""

from __future__ import annotations

import time
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
import requests
import stamina
import urllib3

from ranger_cdap.errors import CdapError, CdapForbidden, CdapNotFound, CdapUnreachable, ConfigError
from ranger_cdap.policies.sign_in import VerifyingAdapter, tls_context

_LARGEST_ANSWER: Final = 1 << 28
_SLOWEST_ANSWER: Final = 10  # read time-outs: an answer that comes byte by byte ends here
_PIECE: Final = 1 << 16


class CdapHttp:
    """A CDAP router or an internal service of CDAP.

    Proxies and credentials of the environment are not used and redirects not followed: the token must reach CDAP and
    nobody else. Its file is read when this object is made.

    Raises:
        ConfigError: the address, the token or the file of certificates can't be used.
    """

    def __init__(
        self,
        url: str,
        *,
        token_file: Path | None = None,
        ca_file: Path | None = None,
        connect_timeout: float = 5.0,
        read_timeout: float = 30.0,
        attempts: int = 3,
    ) -> None:
        self.url = checked_url(url)
        self._timeout = (connect_timeout, read_timeout)
        self._slowest = read_timeout * _SLOWEST_ANSWER
        self._attempts = attempts
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.mount("https://", VerifyingAdapter(tls_context(str(ca_file) if ca_file else None, None, None)))
        self._session.headers.update({"User-Agent": "ranger-cdap", "Accept-Encoding": "identity"})
        if token_file is not None:
            self._session.headers["Authorization"] = f"Bearer {_token(token_file)}"

    def __enter__(self) -> CdapHttp:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def get_json(self, path: str, query: dict[str, str] | None = None) -> Any:
        """The JSON value CDAP answers with.

        Raises:
            CdapError: one of its subclasses, by what went wrong.
        """
        body = self._call("GET", path, query=query)
        try:
            return msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise CdapError(
                f"the answer to `GET {path}` is not JSON; is `{self.url}` the address of a CDAP router?"
            ) from None

    def post(self, path: str, body: bytes, content_type: str) -> bytes:
        """What CDAP answers to a question that needs a body.

        Raises:
            CdapError: one of its subclasses, by what went wrong.
        """
        return self._call("POST", path, body=body, headers={"Content-Type": content_type})

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, str] | None = None,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> bytes:
        for attempt in stamina.retry_context(
            on=CdapUnreachable, attempts=self._attempts, timeout=None, wait_initial=0.2, wait_max=5.0
        ):
            with attempt:
                return self._send(method, path, query, body, headers)
        raise AssertionError("the last attempt returns or raises")

    def _send(
        self, method: str, path: str, query: dict[str, str] | None, body: bytes | None, headers: dict[str, str] | None
    ) -> bytes:
        deadline = time.monotonic() + self._slowest
        try:
            with self._session.request(
                method,
                self.url + path,
                params=query,
                data=body,
                headers=headers,
                timeout=self._timeout,
                allow_redirects=False,
                stream=True,
            ) as response:
                content = self._bounded(response, f"`{method} {path}`", deadline)
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError) as e:
            raise CdapUnreachable(f"CDAP at `{self.url}` can't be reached: {_words(e)}") from None
        if response.status_code != HTTPStatus.OK:
            raise self._error(response.status_code, f"`{method} {path}`")
        return content

    def _bounded(self, response: requests.Response, call: str, deadline: float) -> bytes:
        """`read1` because `iter_content` waits for whole pieces, however slow."""
        pieces, read = [], 0
        while piece := response.raw.read1(_PIECE, decode_content=True):
            read += len(piece)
            if read > _LARGEST_ANSWER:
                raise CdapError(f"the answer to {call} is larger than {_LARGEST_ANSWER} bytes, so it was not read")
            if time.monotonic() > deadline:
                raise CdapUnreachable(f"the answer to {call} comes too slowly to be waited for")
            pieces.append(piece)
        return b"".join(pieces)

    def _error(self, status: int, call: str) -> CdapError:
        """The answer's text is not repeated: it may be anybody's."""
        match status:
            case HTTPStatus.UNAUTHORIZED:
                return CdapForbidden(f"CDAP at `{self.url}` does not accept the token (401 to {call})")
            case HTTPStatus.FORBIDDEN:
                return CdapForbidden(f"the account may not do {call} in CDAP at `{self.url}` (403)")
            case HTTPStatus.NOT_FOUND:
                return CdapNotFound(f"CDAP at `{self.url}` answers 404 to {call}")
            case status if 300 <= status < 400:
                return CdapError(
                    f"CDAP at `{self.url}` answers {call} with a redirect ({status}), which is not followed"
                )
            case status if status >= 500:
                return CdapUnreachable(f"CDAP at `{self.url}` answers {status} to {call}")
        return CdapError(f"CDAP at `{self.url}` answers {status} to {call}")


def checked_url(url: str) -> str:
    """The address without a slash at its end.

    Raises:
        ConfigError: it is not one, or holds a user name or password.
    """
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and not (parts.query or parts.fragment)
        _ = parts.port
    except ValueError:
        usable = None
    if not usable:
        raise ConfigError(f"`{url.split('@')[-1]}` is not an address of CDAP, like `https://cdap.example:11015`")
    if "@" in url:
        raise ConfigError("the address of CDAP must not hold a user name or password")
    return url.rstrip("/")


def _token(path: Path) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as e:
        raise ConfigError(f"the token file `{path}` can't be read: {type(e).__name__}") from None
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(f"the token file `{path}` must hold one word of ASCII")
    return token


def _words(error: BaseException) -> str:
    """In a few words, without the address and without what was sent."""
    kinds: tuple[tuple[type[BaseException], str], ...] = (
        (requests.exceptions.SSLError, "its certificate or its TLS is not accepted"),
        (requests.ConnectTimeout, "no connection within the time-out"),
        (requests.ReadTimeout, "no answer within the time-out"),
        (urllib3.exceptions.ReadTimeoutError, "no answer within the time-out"),
        (TimeoutError, "no answer within the time-out"),
        (requests.ConnectionError, "no connection can be made, or it broke off"),
        (urllib3.exceptions.HTTPError, "the connection broke off"),
    )
    return next((words for kind, words in kinds if isinstance(error, kind)), type(error).__name__)
