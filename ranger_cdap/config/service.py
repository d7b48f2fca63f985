"""The settings of the decision service: the table `[service]` and those in it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from ranger_cdap.config.secret import Secret
from ranger_cdap.config.table import Table, UserDirectory


class CallerSettings(Table, frozen=True):
    """A program that asks the decision service, how it proves who it is, and what it may ask."""

    name: str
    """The name it proves, and the audit and the log show."""
    roles: tuple[Literal["enforce", "audit", "grant", "evaluate", "delegate"], ...]
    """Its roles ([decision-service.md](decision-service.md))."""
    secret: Secret | None = None
    """Its secret; without one it comes with a token (`[service.jwt]`) or through a proxy (`[service.proxy]`)."""
    rate: int | None = None
    """Requests a second it may make, 0 for any number; without it `service.rate`, and any number with `enforce`."""


class JwtSettings(Table, frozen=True):
    """Tokens that are believed; none without a key."""

    key_file: Path | None = None
    """The key that signed them: a public key as PEM, or the shared one of `HS256`."""
    jwks_url: str = ""
    """Instead of `key_file`: the address of the issuer's current keys (JWKS); `https`, or `http` on this machine."""
    jwks_ca_file: str | None = None
    """The authorities that are trusted for `jwks_url`, as PEM; without it those of the system."""
    poll_interval: float = 300.0
    """Seconds between two looks at `jwks_url`; a token with an unknown key makes one sooner. Greater than zero."""
    max_staleness: float = 24 * 3600.0
    """Seconds without an answer of `jwks_url` after which no token is accepted; greater than zero."""
    algorithms: tuple[Literal["RS256", "ES256", "EdDSA", "HS256"], ...] = ("RS256",)
    """How they may be signed; `HS256` only alone."""
    issuer: str = ""
    """Who must have issued them."""
    audience: str = ""
    """For whom they must have been issued."""
    name_claim: str = "sub"
    """The claim that names the caller."""


class ProxySettings(Table, frozen=True):
    """A proxy that has authenticated the caller; none without addresses."""

    addresses: tuple[str, ...] = ()
    """Where its requests come from."""
    header: str = "X-Forwarded-User"
    """The header in which it names the caller."""
    secret: Secret | None = None
    """The proxy's own secret, as second proof."""
    secret_header: str = "X-Proxy-Secret"  # noqa: S105 a header, not a secret
    """The header in which it shows that."""


class ServiceSettings(Table, frozen=True):
    """The decision service: where it listens, who may ask, how much ([decision-service.md](decision-service.md))."""

    host: str = "127.0.0.1"
    """The address it listens on; any other than loopback needs a certificate."""
    port: int = 6500
    """The port; 0: any free one."""
    hosts: tuple[str, ...] = ()
    """Names it is asked under besides loopback; requests for another `Host` are refused."""
    tls_certificate: Path | None = None
    """Its certificate, as PEM; then it speaks HTTPS only."""
    tls_key: Path | None = None
    """The key, as PEM; without it the key is in `tls_certificate`."""
    tls_client_ca: Path | None = None
    """PEM of the authorities one of whose client certificates every connection must show, besides a caller's proof."""
    tls_probe_certificate: Path | None = None
    """With `tls_client_ca`: the client certificate, as PEM, of `doctor` and of the health check of the image."""
    tls_probe_key: Path | None = None
    """Its key, as PEM and not encrypted; without it the key is in `tls_probe_certificate`."""
    ranger_services: tuple[str, ...] = ()
    """Ranger services that are decided besides `ranger.service`, each with its own definition."""
    ranger_ui: str = ""
    """The address of Ranger's web UI, for the links of the page; without it the first of `ranger.url`."""
    callers: tuple[CallerSettings, ...] = ()
    """Who may ask: one table `[[service.callers]]` each."""
    jwt: JwtSettings = JwtSettings()
    """Tokens that are believed: the table `[service.jwt]`."""
    proxy: ProxySettings = ProxySettings()
    """A proxy that is believed: the table `[service.proxy]`."""
    max_body: int = 4_000_000
    """Bytes of a request; greater than zero."""
    max_batch: int = 5_000
    """Entities or records of a request; greater than zero."""
    max_requests: int = 256
    """Requests at once, of one caller half of them (of one with `enforce` all); greater than zero."""
    max_connections: int = 512
    """Connections at once, and 256 below the limit of open files at most; greater than zero."""
    max_connections_per_peer: int = 256
    """Those of one address; of more the longest idle are closed. Greater than zero."""
    idle_timeout: float = 15.0
    """Seconds after which a connection without a request is closed; greater than zero."""
    rate: int = 1_000
    """Requests a second of one caller, and of an address without one; more get 429. 0: any number."""
    body_timeout: float = 10.0
    """Seconds for the head of a request, and for its body, to come; greater than zero."""
    stop_timeout: float = 10.0
    """Seconds for requests under way when it ends; greater than zero."""
    events_dir: Path = msgspec.field(default_factory=UserDirectory("data", "events"))
    """Where records for the sync job are kept; for its owner only, and to read for `events_group`."""
    events_group: str = ""
    """The group that may read what is there, and write nothing; without it only its owner reads."""
    grants: Literal["refuse", "bridge"] = "refuse"
    """The treatment of grants made in CDAP: refused, or passed on to Ranger in the name of the user who makes them."""
    bridge_username: str = ""
    """The account that passes them on; in `policy.grantrevoke.auth.users` of the service."""
    bridge_password: Secret = Secret("")
    """Its password or, with `ranger.auth = "bearer"`, its token."""
