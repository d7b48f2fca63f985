"""Salted scrypt hashes of passwords, and Ranger's rule for new passwords."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

COST = 2**14  # of a new hash: 16 MiB and some 50 ms
_SALT_BYTES = 16
_STRONG = re.compile(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z]).{8,}", re.DOTALL)


def hash_password(password: str) -> str:
    """Return `cost$salt$hash`, the last two in hexadecimal, with a fresh salt."""
    salt = secrets.token_bytes(_SALT_BYTES)
    return f"{COST}${salt.hex()}${_scrypt(password, salt, COST).hex()}"


def password_matches(password: str, stored: str) -> bool:
    """Return whether the password has this hash; compares in constant time."""
    cost, salt, digest = stored.split("$")
    return hmac.compare_digest(_scrypt(password, bytes.fromhex(salt), int(cost)), bytes.fromhex(digest))


def _scrypt(password: str, salt: bytes, cost: int) -> bytes:
    # Hashed first, because scrypt treats `x` and `x` with trailing zero bytes as the same password.
    digest = hashlib.sha256(password.encode("utf-8", "surrogatepass")).digest()
    return hashlib.scrypt(digest, salt=salt, n=cost, r=8, p=1)


def is_strong(password: str) -> bool:
    """Return whether a password has eight characters with an upper-case letter, a lower-case letter and a digit."""
    return _STRONG.fullmatch(password) is not None


def random_password() -> str:
    """Return a random password that satisfies Ranger's rule."""
    return f"{secrets.token_urlsafe(18)}aA1"
