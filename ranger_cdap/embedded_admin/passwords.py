"""Passwords as salted scrypt hashes, and the rule Ranger has for new ones."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

_COST = {"n": 2**14, "r": 8, "p": 1}
_SALT_BYTES = 16
_STRONG = re.compile(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z]).{8,}", re.DOTALL)


def hash_password(password: str) -> str:
    """`salt$hash` in hexadecimal, with a fresh salt."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return f"{salt.hex()}${_scrypt(password, salt).hex()}"


def password_matches(password: str, stored: str) -> bool:
    """Whether the password made this hash; compared in constant time."""
    salt, _, digest = stored.partition("$")
    return hmac.compare_digest(_scrypt(password, bytes.fromhex(salt)), bytes.fromhex(digest))


def _scrypt(password: str, salt: bytes) -> bytes:
    # Hashed first, because scrypt takes `x` and `x` with zero bytes behind it for the same password.
    digest = hashlib.sha256(password.encode("utf-8", "surrogatepass")).digest()
    return hashlib.scrypt(digest, salt=salt, **_COST)


def is_strong(password: str) -> bool:
    """Eight characters with an upper-case and a lower-case letter and a digit, as Ranger asks."""
    return _STRONG.fullmatch(password) is not None


def random_password() -> str:
    """A password nobody guesses that Ranger's rule accepts."""
    return f"{secrets.token_urlsafe(18)}aA1"
