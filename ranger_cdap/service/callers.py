"""Who asks the decision service: callers by name, what each may do, and the three ways to prove a name.

Law: nobody is a caller who is not in the settings, and what he may do, the settings alone say. A header with a name
counts only from the addresses of a proxy that shows its own secret as well.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, Self

from ranger_cdap.config import JwtSettings, ProxySettings, Secret, ServiceSettings
from ranger_cdap.errors import ConfigError, ServerError

SHORTEST_SECRET: Final = 16
"""Characters a secret must have at least: it is asked for over the network, without a limit of tries."""

_LEEWAY_SECONDS: Final = 30


class Role(StrEnum):
    """What a caller may do."""

    ENFORCE = "enforce"
    AUDIT = "audit"
    GRANT = "grant"
    EVALUATE = "evaluate"
    DELEGATE = "delegate"


@dataclass(frozen=True, slots=True)
class Caller:
    """A program that asks, as it has proved itself."""

    name: str
    roles: frozenset[Role]


class Callers:
    """The callers of the settings."""

    def __init__(self, callers: Mapping[str, Caller], secrets: Mapping[str, bytes], tokens: Tokens, proxy: Proxy):
        self._callers = callers
        self._secrets = secrets
        self._tokens = tokens
        self._proxy = proxy

    @classmethod
    def of(cls, settings: ServiceSettings) -> Self:
        """The callers of the settings.

        Raises:
            ConfigError: a caller is named twice or has no way to prove himself, or a secret is short or is another's.
            ServerError: tokens are configured and PyJWT is not installed.
        """
        callers: dict[str, Caller] = {}
        secrets: dict[str, bytes] = {}
        tokens, proxy = Tokens.of(settings.jwt), Proxy.of(settings.proxy)
        for row in settings.callers:
            if not row.name or ":" in row.name or not row.name.isprintable():
                raise ConfigError(
                    f"`{row.name}` is not a name for a caller: it is empty or has a colon or control codes"
                )
            if row.name in callers:
                raise ConfigError(f"`service.callers` names `{row.name}` twice")
            callers[row.name] = Caller(row.name, frozenset(map(Role, row.roles)))
            if row.secret is not None:
                secrets[row.name] = _digest(_long_enough(row.secret, f"of caller `{row.name}`"))
            elif not (tokens.accepts or proxy.addresses):
                raise ConfigError(f"caller `{row.name}` has no `secret`, and neither tokens nor a proxy are configured")
        known = [*secrets.values(), *filter(None, [proxy.secret])]
        if len(set(known)) < len(known):
            raise ConfigError(
                "two of `service.callers`, or one and `service.proxy`, have one secret; give each its own"
            )
        return cls(callers, secrets, tokens, proxy)

    def admit(self, headers: Mapping[str, str], peer: str | None) -> Caller | None:
        """Who asks, by the request's headers (names in lower case) and the address it came from; None if nobody known.

        Where an `Authorization` is given, it alone counts.
        """
        kind, _, rest = headers.get("authorization", "").partition(" ")
        if kind.lower() == "basic":
            name = self._by_secret(rest.strip())
        elif kind.lower() == "bearer":
            name = self._tokens.name(rest.strip())
        elif kind:
            name = None
        else:
            name = self._proxy.name(headers, peer)
        return self._callers.get(name) if name is not None else None

    def _by_secret(self, credentials: str) -> str | None:
        try:
            name, colon, secret = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, ValueError):
            return None
        # Somebody unknown costs as much time as somebody known, so the time tells no names.
        expected = self._secrets.get(name, b"\0" * 32)
        proved = hmac.compare_digest(expected, _digest(secret))
        return name if proved and colon and name in self._secrets else None


@dataclass(frozen=True, slots=True)
class Tokens:
    """JSON Web Tokens, believed if the key of the settings signed them for us and they are not over."""

    key: Any = None
    algorithms: tuple[str, ...] = ()
    issuer: str = ""
    audience: str = ""
    name_claim: str = "sub"

    @property
    def accepts(self) -> bool:
        """Whether tokens are configured."""
        return self.key is not None

    @classmethod
    def of(cls, settings: JwtSettings) -> Self:
        """What the settings say.

        Raises:
            ConfigError: the key can't be read or is of another kind than the algorithms, or issuer or audience lack.
            ServerError: PyJWT is not installed.
        """
        if settings.key_file is None:
            return cls()
        if not (settings.issuer and settings.audience and settings.algorithms):
            raise ConfigError("`service.jwt` needs `issuer`, `audience` and `algorithms` besides `key_file`")
        return cls(
            _signing_key(settings.key_file, settings.algorithms),
            settings.algorithms,
            settings.issuer,
            settings.audience,
            settings.name_claim,
        )

    def name(self, token: str) -> str | None:
        """Whom the token names; None if it proves nothing."""
        if not self.accepts:
            return None
        import jwt

        try:
            claims = jwt.decode(
                token,
                self.key,
                algorithms=list(self.algorithms),
                audience=self.audience,
                issuer=self.issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", self.name_claim]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, RecursionError):
            return None  # PyJWT does not foresee all that can stand in a token
        name = claims.get(self.name_claim)
        return name if isinstance(name, str) else None


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that has asked the caller who he is."""

    addresses: frozenset[str] = frozenset()
    header: str = ""
    secret: bytes = b""
    secret_header: str = ""

    @classmethod
    def of(cls, settings: ProxySettings) -> Self:
        """What the settings say.

        Raises:
            ConfigError: an address is none, or the second proof is missing or too short.
        """
        if not settings.addresses:
            return cls()
        if settings.secret is None:
            raise ConfigError("`service.proxy` needs a `secret` that the proxy sends: an address alone proves nothing")
        try:
            addresses = frozenset(str(ipaddress.ip_address(address)) for address in settings.addresses)
        except ValueError as e:
            raise ConfigError(f"`service.proxy.addresses`: {e}") from None
        secret = _long_enough(settings.secret, "of `service.proxy`")
        return cls(addresses, settings.header.lower(), _digest(secret), settings.secret_header.lower())

    def name(self, headers: Mapping[str, str], peer: str | None) -> str | None:
        """Whom the proxy names; None if it is not the proxy that speaks."""
        if peer not in self.addresses:
            return None
        proved = hmac.compare_digest(self.secret, _digest(headers.get(self.secret_header, "")))
        return headers.get(self.header) if proved else None


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _long_enough(secret: Secret, whose: str) -> str:
    text = secret.reveal()
    if len(text) < SHORTEST_SECRET:
        raise ConfigError(f"the secret {whose} is shorter than {SHORTEST_SECRET} characters; make one at random")
    return text


def _signing_key(path: Path, algorithms: tuple[str, ...]) -> Any:
    """The key as PyJWT takes it; one that is to be kept secret and one that is public never serve the same settings."""
    try:
        import jwt
    except ModuleNotFoundError as e:
        raise ServerError(f"`{e.name}` is not installed; install it with: pip install 'ranger-cdap[service]'") from None
    if "HS256" in algorithms and len(algorithms) > 1:
        raise ConfigError(
            "`service.jwt.algorithms`: `HS256` shares its key with whoever signs; don't mix it with others"
        )
    try:
        data = path.read_bytes().strip()
        if algorithms == ("HS256",):
            _long_enough(Secret(data.decode()), "in `service.jwt.key_file`")
        key, *_ = [jwt.get_algorithm_by_name(algorithm).prepare_key(data) for algorithm in algorithms]
    except (OSError, ValueError, TypeError, NotImplementedError, jwt.PyJWTError) as e:
        raise ConfigError(
            f"`service.jwt.key_file` `{path}` is not a key for {', '.join(algorithms)}: {type(e).__name__}"
        ) from None
    if hasattr(key, "private_bytes"):
        raise ConfigError(f"`service.jwt.key_file` `{path}` holds a private key; the public one is enough here")
    return key
