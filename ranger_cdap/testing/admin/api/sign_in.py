"""Basic authentication, with a lock-out after five wrong passwords within 300 seconds."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import threading
from collections import deque

from ranger_cdap.testing.admin.rules.passwords import hash_password, password_matches
from ranger_cdap.testing.admin.store.principals import Login

MAX_FAILURES = 5
LOCK_MS = 300_000


def basic_credentials(header: str) -> tuple[str, str] | None:
    """Parse user name and password from an `Authorization` header; `None` if it is not well-formed Basic."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return None
    try:
        text = base64.b64decode(encoded.strip(), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    name, separator, password = text.partition(":")
    return (name, password) if separator and name else None


class LoginThrottle:
    """Password check with failure counts and locked logins.

    A correct password is cached as a keyed hash, because scrypt per request would cost more than the request.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures: dict[str, deque[int]] = {}
        self._key = secrets.token_bytes(32)
        self._known: dict[str, tuple[str, bytes]] = {}
        # An unknown name costs as much time as a wrong password, so that names cannot be enumerated.
        self._decoy = hash_password(secrets.token_hex(16))

    def accepts(self, login: Login | None, password: str, now: int) -> bool:
        """Return whether the password is correct and the login not locked at `now` (epoch ms)."""
        if login is None:
            password_matches(password, self._decoy)
            return False
        if self._is_locked(login.name, now):
            return False
        if self._matches(login, password):
            with self._lock:
                self._failures.pop(login.name, None)
            return True
        with self._lock:
            self._failures.setdefault(login.name, deque(maxlen=MAX_FAILURES)).append(now)
        return False

    def _is_locked(self, name: str, now: int) -> bool:
        with self._lock:
            failures = self._failures.get(name)
            return failures is not None and len(failures) == MAX_FAILURES and now - failures[0] < LOCK_MS

    def _matches(self, login: Login, password: str) -> bool:
        digest = hmac.digest(self._key, password.encode("utf-8", "surrogatepass"), hashlib.sha256)
        with self._lock:
            stored, known = self._known.get(login.name, ("", b""))
        if stored == login.password_hash and hmac.compare_digest(known, digest):
            return True
        if not password_matches(password, login.password_hash):
            return False
        with self._lock:
            self._known[login.name] = (login.password_hash, digest)
        return True
