"""Checks of the certificates in the settings: each is reported before it expires."""

from __future__ import annotations

import calendar
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ranger_cdap.config import Settings
from ranger_cdap.config.named_file import read_regular
from ranger_cdap.doctor.finding import Finding, failed, note, well
from ranger_cdap.doctor.network import DAY, EXPIRES_SOON
from ranger_cdap.errors import reason

_BEGIN: Final = "-----BEGIN CERTIFICATE-----"
_END: Final = "-----END CERTIFICATE-----"
_SEQUENCE, _EXPLICIT_VERSION, _UTC_TIME = 0x30, 0xA0, 0x17


def examine_certificates(settings: Settings, now: float) -> Iterator[Finding]:
    """Check the certificates of service, clients and authorities; `now` is in seconds since 1970.

    Those of the decision service only if it has callers, those of the sync job only if it uses them.
    """
    ranger, service, sync = settings.ranger, settings.service, settings.sync
    chains: dict[str, str | Path | None] = {"ranger.cert_file": ranger.cert_file}
    if service.callers:
        chains["service.tls_certificate"] = service.tls_certificate
        chains["service.tls_probe_certificate"] = service.tls_probe_certificate
    if sync.confirm.url or sync.notify:
        chains["sync.cert_file"] = sync.cert_file
    yield from (_examine(setting, Path(file), now) for setting, file in chains.items() if file)
    if service.callers and service.tls_client_ca:
        yield _examine("service.tls_client_ca", service.tls_client_ca, now, of_authorities=True)


def _examine(setting: str, file: Path, now: float, *, of_authorities: bool = False) -> Finding:
    check = f"certificate `{setting}`"
    try:
        ends = _ends(read_regular(file).decode("utf-8", errors="replace"))
    except PermissionError as e:
        return note(check, f"`{file}` cannot be read: {reason(e)}", "run this as the user of its program as well")
    except OSError as e:
        return failed(check, f"`{file}` cannot be read: {reason(e)}", f"correct `{setting}`")
    except (ValueError, IndexError):
        ends = []
    if not ends:
        return failed(check, f"`{file}` holds no certificate in PEM form", f"correct `{setting}`")
    over, first = [end for end in ends if end <= now], min(ends)
    if over and (not of_authorities or len(over) == len(ends)):
        return failed(check, f"`{file}` expired {_days(now - max(over))} ago", "renew it")
    if over:
        return note(check, f"{len(over)} of {len(ends)} authorities in `{file}` have expired", "remove them")
    seen = f"valid for {_days(first - now)}"
    return (
        well(check, seen)
        if first - now > EXPIRES_SOON
        else note(check, seen, "add the authority that replaces it" if of_authorities else "renew it")
    )


def _days(seconds: float) -> str:
    return f"{int(seconds // DAY)} days"


def _ends(text: str) -> list[float]:
    """Return the expiry of each certificate of a PEM file, in seconds since 1970.

    Raises:
        ValueError, IndexError: a PEM block is not a certificate.
    """
    blocks = [block.partition(_END) for block in text.split(_BEGIN)[1:]]
    return [_end(ssl.PEM_cert_to_DER_cert(_BEGIN + content + end)) for content, end, _ in blocks]


def _end(der: bytes) -> float:
    """Return `notAfter` of a certificate (RFC 5280, 4.1); the standard library has it for verified ones only."""
    _, certificate, _ = _element(der)
    _, to_be_signed, _ = _element(certificate)
    kind, _, rest = _element(to_be_signed)
    if kind == _EXPLICIT_VERSION:
        _, _, rest = _element(rest)
    for _ in ("algorithm of the signature", "issuer"):
        _, _, rest = _element(rest)
    kind, validity, _ = _element(rest)
    if kind != _SEQUENCE:
        raise ValueError("no validity")
    kind, end, _ = _element(_element(validity)[2])
    form = "%y%m%d%H%M%SZ" if kind == _UTC_TIME else "%Y%m%d%H%M%SZ"
    return calendar.timegm(time.strptime(end.decode("ascii"), form))


def _element(der: bytes) -> tuple[int, bytes, bytes]:
    """Return the tag and content of the first DER element, and the remaining bytes."""
    length, begin = der[1], 2
    if length & 0x80:
        begin += length & 0x7F
        length = int.from_bytes(der[2:begin])
    if begin + length > len(der):
        raise ValueError("cut off")
    return der[0], der[begin : begin + length], der[begin + length :]
