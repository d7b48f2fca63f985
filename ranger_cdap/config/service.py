"""The settings of the decision service: the table `[service]` and those in it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from ranger_cdap.config.secret import Secret
from ranger_cdap.config.table import Table, UserDirectory


class CallerSettings(Table, frozen=True):
    """A caller of the decision service: its name, authentication and roles."""

    name: str
    """The name of the caller, as in audit records and the log."""
    roles: tuple[Literal["enforce", "audit", "grant", "evaluate", "delegate", "refresh"], ...]
    """Its roles ([decision-service.md](decision-service.md))."""
    secret: Secret | None = None
    """Its secret; without one a proxy names it (`[service.proxy]`)."""


class ProxySettings(Table, frozen=True):
    """A proxy that authenticates callers; none without addresses."""

    addresses: tuple[str, ...] = ()
    """The addresses its requests come from."""
    secret: Secret | None = None
    """The proxy's own secret, as a second proof."""
    callers: tuple[str, ...] = ()
    """The callers with a role that it may speak for; by default none."""


class ServiceSettings(Table, frozen=True):
    """The decision service: address, callers and limits ([decision-service.md](decision-service.md))."""

    host: str = "127.0.0.1"
    """The address it listens on; any other than loopback needs a certificate."""
    port: int = 6500
    """The port; 0: any free one."""
    hosts: tuple[str, ...] = ()
    """Host names of the service besides loopback; others are refused, except IP addresses for health and metrics."""
    tls_certificate: Path | None = None
    """Its certificate, as PEM; enables HTTPS and disables HTTP."""
    tls_key: Path | None = None
    """The key, as PEM; without it the key is in `tls_certificate`."""
    tls_client_ca: Path | None = None
    """Authorities of client certificates, as PEM; requires a client certificate, in addition to authentication."""
    tls_probe_certificate: Path | None = None
    """With `tls_client_ca`: the client certificate, as PEM, of `doctor` and of the health check of the image."""
    tls_probe_key: Path | None = None
    """Its key, as PEM and not encrypted; without it the key is in `tls_probe_certificate`."""
    ranger_services: tuple[str, ...] = ()
    """Ranger services to decide for besides `ranger.service`, each with its own definition."""
    callers: tuple[CallerSettings, ...] = ()
    """The callers: one table `[[service.callers]]` each."""
    proxy: ProxySettings = ProxySettings()
    """A trusted proxy: the table `[service.proxy]`."""
    events_dir: Path = msgspec.field(default_factory=UserDirectory("data", "events"))
    """The directory of records for the sync job; private to its owner, readable by `events_group`."""
    events_group: str = ""
    """The group that may read `events_dir`, without writing; without it only its owner can."""
    inventory: Path | None = None
    """An inventory of `ranger-cdap sync inventory`, taken after the first start; entities it lacks count as new."""
    grants: Literal["refuse", "bridge", "bridge-with-roles"] = "refuse"
    """Grants made in CDAP: refused, or forwarded to Ranger on behalf of the user who makes them; also roles, or not."""
    bridge_username: str = ""
    """The account that forwards grants; in `policy.grantrevoke.auth.users`, with roles in `service.admin.users`."""
    bridge_password: Secret = Secret("")
    """Its password or, with `ranger.auth = "bearer"`, its token."""
