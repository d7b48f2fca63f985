"""`FetchedKeys`: the current keys that sign tokens, as published by a key server (JWKS, RFC 7517).

Laws: a request never waits for the key server: `find` uses the keys it has. The server is polled every
`POLL_INTERVAL`, sooner for an unknown key, but never more than once in `PAUSE` seconds, whatever tokens contain. Its
last response counts until the next one, or until there was none for `MAX_STALENESS`. A key serves one
algorithm and only to verify: shared secrets, private keys and keys for other uses are skipped.

PyJWT makes the keys. Its `PyJWKClient` does not fetch them: it would do so in the request's thread, read responses of
any size, and use the proxies of the environment.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from types import MappingProxyType
from typing import Any, Final, Protocol, Self

import msgspec

from ranger_cdap.config import JwtSettings, checked_address
from ranger_cdap.config.address import JWKS
from ranger_cdap.net.exchange import Exchange, NoResponse, TooLarge, TooSlow
from ranger_cdap.net.tls import TlsFiles
from ranger_cdap.ranger_model.json_text import decode

logger = logging.getLogger(__name__)

POLL_INTERVAL: Final = 300.0
"""Seconds between two requests to the key server."""
MAX_STALENESS: Final = 24 * 3600.0
"""Seconds without a response after which no token is accepted."""
PAUSE: Final = 10.0
"""Minimum time between two requests to the key server, in seconds."""

_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 5.0
_FIRST_ANSWER_SECONDS: Final = 10.0
_LARGEST: Final = 256 << 10
_LONGEST_ID: Final = 256
_LONGEST_GOODBYE: Final = 1.0
_RSA_BITS: Final = range(2_048, 16_385)
# Key types and curves of each algorithm that needs no shared secret.
ALGORITHMS: Final[Mapping[str, tuple[str, tuple[str | None, ...]]]] = {
    "RS256": ("RSA", (None,)),
    "ES256": ("EC", ("P-256",)),
    "EdDSA": ("OKP", ("Ed25519", "Ed448")),
}

Keys = Mapping[tuple[str, str], Any]
"""Public keys in PyJWT's form, by id and algorithm."""


class KeysUnavailable(Exception):
    """Failure to get keys from the key server."""


class SigningKeys(Protocol):
    """Source of the keys that must have signed tokens."""

    def find(self, key_id: str | None, algorithm: str) -> Any:
        """Return the key of that id for that algorithm; None if there is none. Never blocks."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """Keys of one response and its time (seconds of a monotonic clock), None before the first."""

    keys: Keys = field(default_factory=lambda: MappingProxyType({}))
    at: float = float("-inf")


class FetchedKeys:
    """Keys of a key server, polled in a thread; `fetch` returns its keys or raises `KeysUnavailable`."""

    def __init__(
        self,
        fetch: Callable[[], Keys],
        *,
        poll_interval: float = POLL_INTERVAL,
        max_staleness: float = MAX_STALENESS,
        pause: float = PAUSE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self._poll_interval = poll_interval
        self._max_staleness = max_staleness
        self._pause = pause
        self._clock = clock
        self._fetched = Fetched()
        self._problem = ""
        self._wanted = threading.Event()
        self._asked = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def of(cls, settings: JwtSettings) -> Self:
        """Return the keys at `jwks_url`; nothing is fetched yet.

        Raises:
            ConfigError: the address or the file of certificates cannot be used.
        """
        return cls(KeyServer(settings))

    def find(self, key_id: str | None, algorithm: str) -> Any:
        """Return the key, unless it is unknown or the key server has been unreachable for too long."""
        fetched = self._fetched
        key = fetched.keys.get((key_id, algorithm)) if key_id is not None else None
        if key is None and key_id is not None:
            self._wanted.set()
        return key if self._clock() - fetched.at <= self._max_staleness else None

    @property
    def age(self) -> float | None:
        """Return the seconds since the key server answered; None before the first response."""
        at = self._fetched.at
        return None if at == float("-inf") else self._clock() - at

    def refresh(self) -> None:
        """Fetch the keys now; a failure is logged and keeps the current ones."""
        began = self._clock()
        try:
            keys = self._fetch()
        except KeysUnavailable as e:
            self._note(str(e))
            return
        except Exception as e:  # whatever fails, the thread must go on polling; meanwhile the keys age
            self._note(f"the keys of tokens cannot be read: {type(e).__name__}")
            return
        if keys.keys() != self._fetched.keys.keys():
            named = ", ".join(sorted({f"{key_id[:40]!a}" for key_id, _ in keys})) or "none: no token is accepted"
            logger.info("keys that sign tokens: %s", named)
        self._fetched = Fetched(keys, began)
        self._note("")

    def start(self) -> None:
        """Start polling in a daemon thread, and wait some seconds for the first response."""
        self._thread = threading.Thread(target=self._run, name="ranger-cdap-token-keys", daemon=True)
        self._thread.start()
        self._asked.wait(_FIRST_ANSWER_SECONDS)

    def close(self) -> None:
        """Stop the thread."""
        self._closed.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(_LONGEST_GOODBYE)

    def _run(self) -> None:
        while not self._closed.is_set():
            self.refresh()
            self._asked.set()
            if not self._closed.wait(self._pause):
                longest = self._pause if self._problem else self._poll_interval
                self._wanted.wait(max(0.0, longest - self._pause))
                self._wanted.clear()

    def _note(self, problem: str) -> None:
        """Log a change of the state; an outage is one warning."""
        if problem and not self._problem:
            logger.warning("%s; the keys of its last answer count for %.0f s", problem, self._max_staleness)
        elif self._problem and not problem:
            logger.info("the key server of tokens answers again")
        self._problem = problem


class KeyServer:
    """Key server at `jwks_url`; a call fetches its keys once.

    Raises:
        ConfigError: the address or the file of certificates cannot be used.
    """

    def __init__(self, settings: JwtSettings) -> None:
        self._url = checked_address(settings.jwks_url, JWKS)
        tls = TlsFiles(settings.jwks_ca_file)
        self._exchange = Exchange(tls, connect_timeout=_CONNECT_SECONDS, read_timeout=_READ_SECONDS)

    def __call__(self) -> Keys:
        """Return the keys it publishes now.

        Raises:
            KeysUnavailable: it does not answer, or not with keys.
        """
        try:
            status, body = self._exchange.ask(
                self._url, "GET", "", query=None, body=None, headers={"Accept": "application/json"}, largest=_LARGEST
            )
        except (NoResponse, TooLarge, TooSlow) as e:
            raise KeysUnavailable(f"the key server `{self._url}` is unavailable: {e}") from None
        if status != HTTPStatus.OK:
            raise KeysUnavailable(f"the key server `{self._url}` answered HTTP {status}")
        try:
            return published_keys(body)
        except ValueError:
            raise KeysUnavailable(f"`{self._url}` is not the address of keys for tokens (JWKS)") from None


class _KeySet(msgspec.Struct):
    keys: list[Any]


def published_keys(document: bytes) -> Keys:
    """Return the keys of a JWK set that may verify; of two with one id for one algorithm neither.

    Raises:
        Undecodable: it is not a JWK set.
    """
    rows = decode(document, _KeySet).keys
    usable = [(row["kid"], algorithm, row) for row in rows for algorithm in ALGORITHMS if _is_for(row, algorithm)]
    named = Counter((key_id, algorithm) for key_id, algorithm, _ in usable)
    found = {
        (key_id, algorithm): key
        for key_id, algorithm, row in usable
        if named[key_id, algorithm] == 1 and (key := _public_key(row, algorithm)) is not None
    }
    return MappingProxyType(found)


def _is_for(row: Any, algorithm: str) -> bool:
    """Return true if a row is a public key that may verify signatures of that algorithm."""
    if not isinstance(row, dict):
        return False
    kind, curves = ALGORITHMS[algorithm]
    key_id, purposes = row.get("kid"), row.get("key_ops", ["verify"])
    return (
        isinstance(key_id, str)
        and 0 < len(key_id) <= _LONGEST_ID
        and row.get("kty") == kind
        and row.get("crv") in curves
        and row.get("alg", algorithm) == algorithm
        and row.get("use", "sig") == "sig"
        and isinstance(purposes, list)
        and "verify" in purposes
        and "d" not in row
    )


def _public_key(row: Mapping[str, Any], algorithm: str) -> Any:
    import jwt

    try:
        key = jwt.PyJWK(dict(row), algorithm).key
    except (jwt.PyJWTError, ValueError, TypeError, ArithmeticError):
        return None
    return key if algorithm != "RS256" or key.key_size in _RSA_BITS else None
