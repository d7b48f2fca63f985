"""Checks of the addresses of Ranger Admin: name, connection, TLS, and clock, without signing in."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterable, Iterator
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Final
from urllib.parse import urlsplit

from ranger_cdap.config import (
    Settings,
    SourceSettings,
    addresses,
    all_can_be_plain,
    configured_addresses,
    is_exposed,
)
from ranger_cdap.doctor.finding import Finding, failed, note, skipped, well
from ranger_cdap.errors import reason
from ranger_cdap.ranger_model.json_text import decode_or_none

DAY: Final = 24 * 3600
EXPIRES_SOON: Final = 30 * DAY
_CLOCKS_AGREE: Final = 60.0


def reach(url: str, context: ssl.SSLContext, timeout: float, now: Callable[[], float]) -> Iterator[Finding]:
    """Run the checks of one address, up to the first that fails; `now` is in seconds since 1970."""
    parts = urlsplit(url)
    host, secure = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if secure else 80)
    try:
        found = sorted({str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)})
    except OSError:
        yield failed(f"name of {url}", f"`{host}` cannot be resolved", "correct `ranger.url`, or the name service")
        return
    yield well(f"name of {url}", f"`{host}` is {', '.join(found)}")
    connection: HTTPConnection = (
        HTTPSConnection(host, port, timeout=timeout, context=context) if secure else HTTPConnection(host, port, timeout)
    )
    try:
        yield from _connected(connection, url, now)
    finally:
        connection.close()


def examine_encryption(settings: Settings) -> Iterator[Finding]:
    """Report each address that is reached over plain http outside of this machine."""
    exposed = dict.fromkeys(found for found in configured_addresses(settings) if is_exposed(found[1]))
    yield from (
        note(
            f"encryption of `{setting.name}` {url}",
            "plain http: anyone on the network path can read its secrets and change its answers",
            f"use https:// in `{setting.name}`, and take the host out of `{setting.permission}`",
        )
        for setting, url in exposed
    )
    others = [found for source in settings.sync.sources if (found := _kafka(source))]
    others += filter(None, [_audit_kafka(settings)])
    yield from others
    if not exposed and not others:
        yield well("encryption", "no unencrypted connection leaves this machine")


def _kafka(source: SourceSettings) -> Finding | None:
    """Report unencrypted Kafka sources: Kafka's client is unencrypted unless its own option says otherwise."""
    exposed = [server for server in addresses(source.bootstrap) if is_exposed(f"http://{server}")]
    named = {name.lower(): option for name, option in source.options.items()}
    option = named.get("kafka.security.protocol")
    if option is not None and option.problem:
        return None  # the checks of secrets report the user that needs it
    protocol = option.reveal() if option is not None else "PLAINTEXT"
    return (
        None
        if not exposed or protocol.upper().endswith("SSL")
        else note(
            f"encryption of source `{source.name}`",
            f"{protocol}: anyone on the network path to {', '.join(exposed)} can become a creator",
            "set its option `kafka.security.protocol` to `SASL_SSL`",
        )
    )


def _audit_kafka(settings: Settings) -> Finding | None:
    """Report a Kafka without TLS that gets audit records."""
    servers = settings.audit.kafka_bootstrap
    exposed = [server for server in addresses(servers) if is_exposed(f"http://{server}")]
    return (
        None
        if not exposed or not all_can_be_plain(",".join(addresses(servers)), settings.network.plain_hosts)
        else note(
            "encryption of `audit.kafka_bootstrap`",
            f"without TLS: anyone on the network path to {', '.join(exposed)} can read password and records",
            "use Kafka's port with TLS, and take the hosts out of `network.plain_hosts`",
        )
    )


def has_field(body: bytes, name: str, value: str) -> bool:
    """Return whether an answer is a JSON object that has this value in a field."""
    found = decode_or_none(body)
    return isinstance(found, dict) and found.get(name) == value


def no_connection(error: OSError) -> str:
    """Return why there is no connection, in words for the operator of the other side."""
    if isinstance(error, TimeoutError):
        return "no connection in time"
    return (
        f"no TLS connection: {error.reason or 'the server rejects it'}"
        if isinstance(error, ssl.SSLError)
        else f"no connection: {reason(error)}"
    )


def _connected(connection: HTTPConnection, url: str, now: Callable[[], float]) -> Iterable[Finding]:
    try:
        connection.connect()
    except ssl.SSLCertVerificationError as e:
        return [
            failed(
                f"TLS of {url}",
                f"the certificate is not accepted: {e.verify_message}",
                "add its authority to `network.ca_file`, or use the host name in its certificate",
            )
        ]
    except ssl.SSLError as e:
        return [
            failed(
                f"TLS of {url}",
                no_connection(e),
                "have the server speak TLS, or give `ranger.cert_file` if it asks for a certificate",
            )
        ]
    except OSError as e:
        return [
            failed(
                f"connection to {url}", no_connection(e), "start Ranger Admin, or allow the connection (port, firewall)"
            )
        ]
    encrypted = [_certificate(connection.sock, url, now())] if isinstance(connection.sock, ssl.SSLSocket) else []
    return [well(f"connection to {url}", "open"), *encrypted, _clock(connection, url, now)]


def _certificate(connection: ssl.SSLSocket, url: str, now: float) -> Finding:
    check = f"TLS of {url}"
    expiry = (connection.getpeercert() or {}).get("notAfter")
    left = ssl.cert_time_to_seconds(str(expiry)) - now
    seen = f"certificate accepted, valid for {int(left // DAY)} days"
    return well(check, seen) if left > EXPIRES_SOON else note(check, seen, "renew the certificate of Ranger Admin")


def _clock(connection: HTTPConnection, url: str, now: Callable[[], float]) -> Finding:
    check = f"clock of {url}"
    try:
        connection.request("HEAD", "/login.jsp", headers={"User-Agent": "ranger-cdap"})
        date = connection.getresponse().getheader("Date")
        there = parsedate_to_datetime(date).timestamp() if date else None
    except (OSError, HTTPException, ValueError):
        there = None
    if there is None:
        return skipped(check, "it does not send its time")
    apart = abs(now() - there)
    return (
        well(check, "agrees with the clock of this machine")
        if apart <= _CLOCKS_AGREE
        else failed(
            check,
            f"{apart:.0f} s apart from the clock of this machine",
            "synchronise both clocks (NTP): policies with a schedule, Kerberos and certificates depend on them",
        )
    )
