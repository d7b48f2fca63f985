"""Validation of addresses that get a credential or are trusted: one rule for every URL of this project.

Law: credentials and policies never leave this machine unencrypted, unless the setting beside the address permits it.
Plain http is accepted for 127.0.0.0/8 and ::1, written as addresses. Names are rejected, `localhost` included, because
a file or a name server decides their meaning. An accepted address is spelled so that every parser finds the same host
in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv6Address
from typing import Final, NewType

import msgspec

from ranger_cdap.config.settings import Settings
from ranger_cdap.errors import ConfigError

Address = NewType("Address", str)
"""An address that `checked_address` accepted, without a trailing slash; nothing is sent to any other."""

_ADDRESS: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?(/[A-Za-z0-9._~%+/-]*)?"
)
_LAST_PORT: Final = 65_535
_SERVER: Final = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?=,|$)")


class AddressSetting(msgspec.Struct, frozen=True):
    """A setting that holds an address, an example, and the setting that permits plain http; empty if there is none."""

    name: str
    example: str
    permission: str = ""


RANGER: Final = AddressSetting("ranger.url", "https://ranger.example:6182", "ranger.allow_plain_http = true")
SOLR: Final = AddressSetting(
    "audit.solr_url", "https://solr.example:8983/solr/ranger_audits", "audit.solr_allow_plain_http = true"
)
ELASTICSEARCH: Final = AddressSetting(
    "audit.elasticsearch_url", "https://elasticsearch.example:9200", "audit.elasticsearch_allow_plain_http = true"
)
SOURCE: Final = AddressSetting(
    "sync.sources[].url", "https://messaging.cdap.example:11018", "sync.sources[].allow_plain_http = true"
)
CONFIRM: Final = AddressSetting(
    "sync.confirm.url", "https://cdap.example:11015", "sync.confirm.allow_plain_http = true"
)
DECISION_SERVICE: Final = AddressSetting(
    "sync.confirm.decision_service", "http://127.0.0.1:6500", "sync.confirm.allow_plain_http = true"
)
NOTIFY: Final = AddressSetting(
    "sync.notify[].url", "https://decisions.example:6500", "sync.notify[].allow_plain_http = true"
)
JWKS: Final = AddressSetting("service.jwt.jwks_url", "https://issuer.example/keys")


class ConfiguredAddress(msgspec.Struct, frozen=True):
    """The address of a setting, with the permission of plain http from the setting beside it."""

    setting: AddressSetting
    url: str
    allow_plain_http: bool

    def checked(self) -> Address:
        """Return the address, validated.

        Raises:
            ConfigError: as `checked_address`.
        """
        return checked_address(self.url, self.setting, allow_plain_http=self.allow_plain_http)


def addresses(url: str) -> tuple[str, ...]:
    """Return the addresses of a comma-separated text."""
    return tuple(filter(None, (one.strip() for one in url.split(","))))


def configured_addresses(settings: Settings) -> Iterator[ConfiguredAddress]:
    """Return every address of the settings that gets a credential or is trusted; `service.ranger_ui` is only a link."""
    ranger, audit, confirm = settings.ranger, settings.audit, settings.sync.confirm
    for url in addresses(ranger.url) or ("",):
        yield ConfiguredAddress(RANGER, url, ranger.allow_plain_http)
    optional = [
        *(ConfiguredAddress(SOLR, url, audit.solr_allow_plain_http) for url in addresses(audit.solr_url)),
        *(
            ConfiguredAddress(ELASTICSEARCH, url, audit.elasticsearch_allow_plain_http)
            for url in addresses(audit.elasticsearch_url)
        ),
        ConfiguredAddress(CONFIRM, confirm.url, confirm.allow_plain_http),
        ConfiguredAddress(DECISION_SERVICE, confirm.decision_service, confirm.allow_plain_http),
        ConfiguredAddress(JWKS, settings.service.jwt.jwks_url, allow_plain_http=False),
        *(ConfiguredAddress(SOURCE, source.url, source.allow_plain_http) for source in settings.sync.sources),
        *(ConfiguredAddress(NOTIFY, service.url, service.allow_plain_http) for service in settings.sync.notify),
    ]
    yield from (one for one in optional if one.url)


def checked_address(url: str, setting: AddressSetting, *, allow_plain_http: bool = False) -> Address:
    """Return the address without a trailing slash.

    Raises:
        ConfigError: it is not an address, holds a user name or password, or is plain http beyond this machine without
            permission.
    """
    if "@" in url:
        raise ConfigError(f"`{setting.name}` must not hold a user name or password")
    found = _ADDRESS.fullmatch(url)
    if found is None or not _exists(found["host"], found["port"]):
        raise ConfigError(f"`{setting.name}` must be an address like `{setting.example}`, not {url[:100]!a}")
    if found["scheme"] == "http" and not (allow_plain_http or is_loopback(found["host"])):
        own = "127.0.0.1 for this machine, " if found["host"].lower() == "localhost" else ""
        permission = f", or `{setting.permission}` if no one else has access" if setting.permission else ""
        raise ConfigError(
            f"`{setting.name}` is `{url}`, which others can read and change in transit: use {own}https://{permission}"
        )
    return Address(url.rstrip("/"))


def is_exposed(address: str) -> bool:
    """Return whether requests to the address leave this machine unencrypted."""
    found = _ADDRESS.fullmatch(address)
    return found is not None and found["scheme"] == "http" and not is_loopback(found["host"])


def _exists(host: str, port: str | None) -> bool:
    try:
        _ = IPv6Address(host[1:-1]) if host.startswith("[") else None
    except AddressValueError:
        return False
    return port is None or 0 < int(port) <= _LAST_PORT


def is_loopback(host: str) -> bool:
    """Return whether the host is a loopback address in its usual spelling; `127.1` is one to some parsers only."""
    try:
        return host in ("[::1]", "::1") or IPv4Address(host).is_loopback
    except AddressValueError:
        return False


def leaves_this_machine(servers: str) -> bool:
    """Return whether one of the servers, separated by commas, is no loopback address."""
    return not all(is_loopback(host) for host in _SERVER.findall(servers))
