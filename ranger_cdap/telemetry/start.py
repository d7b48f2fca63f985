"""`start_telemetry`: the spans of this process, if the environment asks for them; the SDK reads the other variables.

Law: without it no module of OpenTelemetry is loaded; and whatever is wrong with it is logged, never raised.
"""

from __future__ import annotations

import logging
import math
import os
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote

from ranger_cdap.config.address import AddressSetting, checked_address, parsed_address
from ranger_cdap.errors import ConfigError

if TYPE_CHECKING:
    from ranger_cdap.telemetry.sdk import Telemetry

logger = logging.getLogger(__name__)

# Of an entry that is anything else, the SDK would log the value, which may be a secret.
_HEADER: Final = re.compile(r"[A-Za-z0-9._-]+[ \t]*=[\x20\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*", re.ASCII)


class _OneLineAMinute(logging.Handler):
    """Handler that repeats a warning of the SDK in a short, printable line: the warning may quote the collector."""

    _last = -math.inf

    def emit(self, record: logging.LogRecord) -> None:
        if time.monotonic() - self._last >= 60:
            self._last = time.monotonic()
            text = " ".join(record.getMessage().split())[:300]
            logger.warning("OpenTelemetry: %s", "".join(c if c.isprintable() else "?" for c in text))


def start_telemetry(name: str) -> Telemetry | None:
    """Return the telemetry of the service of that name; None if the environment asks for none, or it cannot be."""
    try:
        if not wants_traces(os.environ):
            return None
        from ranger_cdap.telemetry.sdk import Telemetry

        sdk = logging.getLogger("opentelemetry")
        sdk.handlers[:], sdk.propagate = [_OneLineAMinute(logging.WARNING)], False
        return Telemetry(name)
    except ModuleNotFoundError as e:
        problem = f"`{e.name}` is not installed; install it with: pip install 'ranger-cdap[telemetry]'"
    except ConfigError as e:
        problem = str(e)
    except Exception as e:
        # Only the SDK's sentences about values are known to be without secrets.
        why = f": {e}" if type(e) is ValueError else ""
        problem = f"a value of an `OTEL_*` variable cannot be used ({type(e).__name__}{why})"
    logger.warning("OpenTelemetry is asked for, and nothing is sent: %s", problem)
    return None


def wants_traces(environment: Mapping[str, str]) -> bool:
    """Return whether OpenTelemetry's variables ask for traces, by an endpoint or the exporter `otlp`. Pure.

    Raises:
        ConfigError: they ask for what we do not have, or would send headers, which may be credentials, unencrypted to
            another machine. No message has the value of a header.
    """
    given = {name: value.strip() for name, value in environment.items() if name.startswith("OTEL_") and value.strip()}
    exporter = given.get("OTEL_TRACES_EXPORTER", "").lower()
    endpoint, protocol, headers = (
        [name for name in (f"OTEL_EXPORTER_OTLP_TRACES_{what}", f"OTEL_EXPORTER_OTLP_{what}") if name in given]
        for what in ("ENDPOINT", "PROTOCOL", "HEADERS")
    )
    if given.get("OTEL_SDK_DISABLED", "").lower() == "true" or exporter == "none" or not (exporter or endpoint):
        return False
    for name, known in [("OTEL_TRACES_EXPORTER", "otlp"), *((name, "http/protobuf") for name in protocol[:1])]:
        if given.get(name, known).lower() != known:
            raise ConfigError(f"`{name}` is `{given[name][:80]}`; set it to `{known}`")
    for name in headers:
        if not all(_is_header(entry.strip(" \t")) for entry in given[name].split(",")):
            raise ConfigError(f"an entry of `{name}` is not `name=value`; percent-encode `,` and `;` in values")
    for name in endpoint[:1]:
        setting = AddressSetting(name, "https://collector.example:4318", permission="")
        (checked_address if headers else parsed_address)(given[name], setting)
    return True


def _is_header(entry: str) -> bool:
    value = unquote(entry.partition("=")[2])
    return not entry or (bool(_HEADER.fullmatch(entry)) and value.isascii() and value.isprintable())
