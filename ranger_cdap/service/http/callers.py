"""Callers of the decision service: their names, their roles, and the two ways to prove a name.

Law: the settings alone define the callers and their roles. A header with a name counts only from the addresses of a
proxy that also sends its own secret, and only for the callers that this proxy may speak for.
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
from functools import lru_cache
from typing import Final, Self

from ranger_cdap.config import ProxySettings, Secret, ServiceSettings
from ranger_cdap.errors import ConfigError

SHORTEST_SECRET: Final = 16
"""Minimum length of a secret, in characters: an attacker can make many attempts a second over the network."""
_NOBODYS: Final = Secret("\0" * 32)
# A proxy is configured to send these two, so no other names are needed.
_NAME: Final = "x-forwarded-user"
_PROXY_SECRET: Final = "x-proxy-secret"  # noqa: S105 a header, not a secret


class CallerRole(StrEnum):
    """Role of a caller."""

    ENFORCE = "enforce"
    AUDIT = "audit"
    GRANT = "grant"
    EVALUATE = "evaluate"
    DELEGATE = "delegate"
    REFRESH = "refresh"


@dataclass(frozen=True, slots=True)
class Caller:
    """Authenticated program that sends a request."""

    name: str
    roles: frozenset[CallerRole]


NO_CALLER: Final = Caller("", frozenset())


@dataclass(frozen=True, slots=True)
class Callers:
    """Authenticator of the callers of the settings."""

    _callers: Mapping[str, Caller]
    _secrets: Mapping[str, Secret]
    _proxy: Proxy

    @classmethod
    def of(cls, settings: ServiceSettings) -> Self:
        """Return the callers of the settings.

        Raises:
            ConfigError: a caller is named twice or has no way to authenticate, or a secret is short or not unique.
        """
        callers: dict[str, Caller] = {}
        secrets: dict[str, Secret] = {}
        proxy = Proxy.of(settings.proxy)
        for row in settings.callers:
            if not row.name or ":" in row.name or not row.name.isprintable():
                raise ConfigError(
                    f"`{row.name}` is not a valid name of a caller: it is empty or has a colon or control characters"
                )
            if row.name in callers:
                raise ConfigError(f"`service.callers` names `{row.name}` twice")
            callers[row.name] = Caller(row.name, frozenset(map(CallerRole, row.roles)))
            if row.secret is not None:
                secrets[row.name] = _long_enough(row.secret, f"of caller `{row.name}`")
            elif not proxy.addresses:
                raise ConfigError(f"caller `{row.name}` has no `secret`, and no proxy is configured")
        if unknown := proxy.callers - callers.keys():
            raise ConfigError(f"`service.proxy.callers` names `{min(unknown)}`, which is none of `service.callers`")
        known = [secret.reveal() for secret in (*secrets.values(), proxy.secret) if secret is not None]
        if len(set(known)) < len(known):
            raise ConfigError("two of `service.callers`, or one and `service.proxy`, share a secret; give each its own")
        return cls(callers, secrets, proxy)

    def admit(self, headers: Mapping[str, str], peer: str | None) -> Caller | None:
        """Authenticate the caller by the request's headers (names in lower case) and its address; None if unknown.

        An `Authorization` header, if present, alone counts.
        """
        kind, _, rest = headers.get("authorization", "").partition(" ")
        if not kind:
            return self._through_proxy(headers, peer)
        name = self._by_secret(rest.strip()) if kind.lower() == "basic" else None
        return self._callers.get(name) if name is not None else None

    def _through_proxy(self, headers: Mapping[str, str], peer: str | None) -> Caller | None:
        caller = self._callers.get(self._proxy.name(headers, peer) or "")
        # What a proxy lets through by mistake must not speak for CDAP.
        return caller if caller is not None and (not caller.roles or caller.name in self._proxy.callers) else None

    def _by_secret(self, credentials: str) -> str | None:
        try:
            name, colon, secret = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, ValueError):
            return None
        # An unknown name takes as long as a known one, so that the time reveals no names.
        another = next(iter(self._secrets.values()), _NOBODYS)
        proved = _proves(secret, self._secrets.get(name, another))
        return name if proved and colon and name in self._secrets else None


@dataclass(frozen=True, slots=True)
class Proxy:
    """Proxy that has authenticated the caller."""

    addresses: frozenset[str] = frozenset()
    secret: Secret | None = None
    callers: frozenset[str] = frozenset()
    """Callers with a role that it may speak for; it may for all others."""

    @classmethod
    def of(cls, settings: ProxySettings) -> Self:
        """Return the proxy of the settings.

        Raises:
            ConfigError: an address is invalid, or the proxy's secret is missing or too short.
        """
        if not settings.addresses:
            return cls()
        if settings.secret is None:
            raise ConfigError("`service.proxy` needs a `secret` that the proxy sends: an address alone proves nothing")
        try:
            addresses = frozenset(str(ipaddress.ip_address(address)) for address in settings.addresses)
        except ValueError as e:
            raise ConfigError(f"`service.proxy.addresses`: {e}") from None
        return cls(addresses, _long_enough(settings.secret, "of `service.proxy`"), frozenset(settings.callers))

    def name(self, headers: Mapping[str, str], peer: str | None) -> str | None:
        """Return the name that the proxy sends; None if the sender is not the proxy."""
        if peer not in self.addresses or self.secret is None:
            return None
        return headers.get(_NAME) if _proves(headers.get(_PROXY_SECRET, ""), self.secret) else None


def _proves(shown: str, secret: Secret) -> bool:
    """Compare with the secret in constant time; a short one never matches.

    On a mismatch the secret's file is read again: it may just have changed.
    """
    return _is_one_of(shown, secret.accepted()) or _is_one_of(shown, secret.accepted(recheck=True))


def _is_one_of(shown: str, accepted: tuple[str, ...]) -> bool:
    digest = _digest(shown)
    return any(hmac.compare_digest(_known_digest(text), digest) for text in accepted if len(text) >= SHORTEST_SECRET)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


_known_digest = lru_cache(maxsize=1_000)(_digest)
"""Return the digest of a configured secret; of what a caller sends, nothing is kept."""


def _long_enough(secret: Secret, whose: str) -> Secret:
    if len(secret.reveal()) < SHORTEST_SECRET:
        raise ConfigError(f"the secret {whose} is shorter than {SHORTEST_SECRET} characters; generate a random one")
    return secret
