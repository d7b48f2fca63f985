"""`Tokens`: JSON Web Tokens that name a caller.

Law: a token names a caller only if a current key signed it with the algorithm of its kind, it is for us, and it has
not expired. Its times are numbers between 1970 and the year 9999; a token with a time as text, or without an expiry,
names none.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from ranger_cdap.config import JwtSettings, WatchedFiles
from ranger_cdap.config.named_file import read_regular
from ranger_cdap.errors import ConfigError, ServerError, reason
from ranger_cdap.service.http.signing_keys import ALGORITHMS, FetchedKeys, SigningKeys

_log = logging.getLogger(__name__)

SHORTEST_SECRET: Final = 16
"""Minimum length of a secret, in characters: an attacker can make many attempts a second over the network."""

_LEEWAY_SECONDS: Final = 30
_TIMES: Final = ("exp", "nbf", "iat")
_LAST_TIME: Final = 253_402_300_799  # 9999-12-31T23:59:59Z


class FileKey:
    """The one key of `key_file`, for its algorithm and any key id; read again when the file changes.

    Raises:
        ConfigError: it is no public key for one of the algorithms.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = WatchedFiles((path,))
        self._algorithm, self._key = _key_of(path)

    def find(self, key_id: str | None, algorithm: str) -> Any:
        """Return the key, if it is for that algorithm."""
        self._files.if_changed(self._read)
        return self._key if algorithm == self._algorithm else None

    def _read(self) -> None:
        try:
            self._algorithm, self._key = _key_of(self._path)
        except ConfigError as e:
            _log.warning("%s; the key read before stays in use", e)


@dataclass(frozen=True, slots=True)
class Tokens:
    """Verifier of tokens that one of the keys signed for us; without keys none is valid."""

    keys: SigningKeys | None = None
    issuer: str = ""
    audience: str = ""
    name_claim: str = "sub"

    @property
    def accepts(self) -> bool:
        """Return true if tokens are configured."""
        return self.keys is not None

    @classmethod
    def of(cls, settings: JwtSettings) -> Self:
        """Return the verifier of the settings; keys of a key server are not fetched yet.

        Raises:
            ConfigError: the key cannot be read or is of no known kind, issuer or audience are missing, or keys have
                two sources.
            ServerError: PyJWT is not installed.
        """
        if settings.key_file is None and not settings.jwks_url:
            return cls()
        if settings.key_file is not None and settings.jwks_url:
            raise ConfigError("`service.jwt` has `key_file` and `jwks_url`; set one of them")
        if not (settings.issuer and settings.audience):
            raise ConfigError("`service.jwt` needs `issuer` and `audience` besides its key")
        _require_jwt()
        keys = FileKey(settings.key_file) if settings.key_file else FetchedKeys.of(settings)
        return cls(keys, settings.issuer, settings.audience, settings.name_claim)

    def name(self, token: str) -> str | None:
        """Return the name in the token; None if it is not valid. Never blocks."""
        if self.keys is None:
            return None
        import jwt

        try:
            header = jwt.get_unverified_header(token)
            key = self.keys.find(header.get("kid"), header["alg"])
            if key is None:
                return None
            claims = jwt.decode(
                token,
                key,
                algorithms=[header["alg"]],
                audience=self.audience,
                issuer=self.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", self.name_claim]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, KeyError, ArithmeticError, RecursionError):
            return None  # PyJWT does not foresee everything that a token can contain
        name = claims.get(self.name_claim)
        return name if isinstance(name, str) and _has_sane_times(claims) else None


def _has_sane_times(claims: Mapping[str, Any]) -> bool:
    """Return true if all times are plain numbers; PyJWT also accepts texts, booleans and any number."""
    times = [claims[name] for name in _TIMES if name in claims]
    return all(type(time) in (int, float) and 0 <= time <= _LAST_TIME for time in times)


def _key_of(path: Path) -> tuple[str, Any]:
    """Return the algorithm of a public key, and the key in PyJWT's form."""
    import jwt

    try:
        data = read_regular(path).strip()
    except OSError as e:
        raise ConfigError(f"`service.jwt.key_file` `{path}` cannot be read: {reason(e)}") from None
    for algorithm in ALGORITHMS:
        with suppress(ValueError, TypeError, NotImplementedError, jwt.PyJWTError):
            key = jwt.get_algorithm_by_name(algorithm).prepare_key(data)
            if hasattr(key, "private_bytes"):
                raise ConfigError(f"`service.jwt.key_file` `{path}` is a private key; use the public one")
            return algorithm, key
    raise ConfigError(f"`service.jwt.key_file` `{path}` is not a public key for {', '.join(ALGORITHMS)}")


def _require_jwt() -> None:
    try:
        import jwt  # noqa: F401
    except ModuleNotFoundError as e:
        raise ServerError(f"`{e.name}` is not installed; install it with: pip install 'ranger-cdap[service]'") from None
