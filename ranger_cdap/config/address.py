"""Validation of addresses that get a credential or are trusted: one rule for every URL of this project.

Law: credentials and policies never leave this machine unencrypted, unless `network.plain_hosts` names the host.
Plain http is accepted for 127.0.0.0/8 and ::1, written as addresses. Names are rejected, `localhost` included, because
a file or a name server decides their meaning. An accepted address is spelled so that every parser finds the same host
in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
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
_NAME: Final = re.compile(r"[A-Za-z0-9._-]+")
_PLAIN_HOSTS: Final = "network.plain_hosts"


class AddressSetting(msgspec.Struct, frozen=True):
    """A setting that holds an address, an example, and the setting that names hosts without TLS; empty if none does."""

    name: str
    example: str
    permission: str = _PLAIN_HOSTS


RANGER: Final = AddressSetting("ranger.url", "https://ranger.example:6182")
SOLR: Final = AddressSetting("audit.solr_url", "https://solr.example:8983/solr/ranger_audits")
ELASTICSEARCH: Final = AddressSetting("audit.elasticsearch_url", "https://elasticsearch.example:9200")
SOURCE: Final = AddressSetting("sync.sources[].url", "https://messaging.cdap.example:11018")
CONFIRM: Final = AddressSetting("sync.confirm.url", "https://cdap.example:11015")
DECISION_SERVICE: Final = AddressSetting("sync.confirm.decision_service", "http://127.0.0.1:6500")
NOTIFY: Final = AddressSetting("sync.notify[].url", "https://decisions.example:6500")


def addresses(url: str) -> tuple[str, ...]:
    """Return the addresses of a comma-separated text."""
    return tuple(filter(None, (one.strip() for one in url.split(","))))


def configured_addresses(settings: Settings) -> Iterator[tuple[AddressSetting, str]]:
    """Return every address of the settings that gets a credential or is trusted."""
    audit, confirm = settings.audit, settings.sync.confirm
    yield from ((RANGER, url) for url in addresses(settings.ranger.url) or ("",))
    optional = [
        *((SOLR, url) for url in addresses(audit.solr_url)),
        *((ELASTICSEARCH, url) for url in addresses(audit.elasticsearch_url)),
        (CONFIRM, confirm.url),
        (DECISION_SERVICE, confirm.decision_service),
        *((SOURCE, source.url) for source in settings.sync.sources),
        *((NOTIFY, service.url) for service in settings.sync.notify),
    ]
    yield from ((setting, url) for setting, url in optional if url)


def address_problems(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield each setting whose host or address cannot be used, and why."""
    yield from (
        (
            _PLAIN_HOSTS,
            f"`{_PLAIN_HOSTS}` must have host names or addresses like `solr.example.com`, not {host[:100]!a}",
        )
        for host in settings.network.plain_hosts
        if not _is_host(host)
    )
    for setting, url in configured_addresses(settings):
        try:
            checked_address(url, setting, settings.network.plain_hosts)
        except ConfigError as e:
            yield setting.name, str(e)


def checked_address(url: str, setting: AddressSetting, plain_hosts: Collection[str] = ()) -> Address:
    """Return the address without a trailing slash.

    `plain_hosts` are the hosts that the permission of the setting names; without a permission they do not count.

    Raises:
        ConfigError: it is not an address, holds a user name or password, or is plain http beyond this machine to a
            host that is not among `plain_hosts`.
    """
    found = parsed_address(url, setting)
    host, permission = found["host"], setting.permission
    if found["scheme"] == "http" and not can_be_plain(host, plain_hosts if permission else ()):
        own = "127.0.0.1 for this machine, " if host.lower() == "localhost" else ""
        raise ConfigError(unencrypted(setting.name, url, host, f"{own}https://", permission))
    return Address(url.rstrip("/"))


def parsed_address(url: str, setting: AddressSetting) -> re.Match[str]:
    """Return the parts of an address: scheme, host and port. It might leave this machine unencrypted.

    Raises:
        ConfigError: it is not an address, or holds a user name or password.
    """
    if "@" in url:
        raise ConfigError(f"`{setting.name}` must not hold a user name or password")
    found = _ADDRESS.fullmatch(url)
    if found is None or not _exists(found["host"], found["port"]):
        raise ConfigError(f"`{setting.name}` must be an address like `{setting.example}`, not {url[:100]!a}")
    return found


def unencrypted(setting: str, url: str, host: str, instead: str, permission: str = _PLAIN_HOSTS) -> str:
    """Return the sentence that refuses an address without TLS."""
    exception = f", or add `{host}` to `{permission}` if no one else has access" if permission else ""
    return f"`{setting}` is `{url}`, which others can read and change in transit: use {instead}{exception}"


def is_exposed(address: str) -> bool:
    """Return whether requests to the address leave this machine unencrypted."""
    found = _ADDRESS.fullmatch(address)
    return found is not None and found["scheme"] == "http" and not is_loopback(found["host"])


def can_be_plain(host: str, plain_hosts: Collection[str]) -> bool:
    """Return whether a host can be reached without TLS: a loopback address, or one of `plain_hosts`."""
    return is_loopback(host) or _bare(host) in map(_bare, plain_hosts)


def all_can_be_plain(servers: str, plain_hosts: Collection[str]) -> bool:
    """Return whether each of the servers, separated by commas, can be reached without TLS."""
    return all(can_be_plain(host, plain_hosts) for host in _SERVER.findall(servers))


def _bare(host: str) -> str:
    return host.lower().strip("[]")


def _is_host(text: str) -> bool:
    try:
        return bool(_NAME.fullmatch(text)) or bool(IPv6Address(_bare(text)))
    except AddressValueError:
        return False


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
