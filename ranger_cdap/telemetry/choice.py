"""`TelemetryChoice`: what the standard variables of OpenTelemetry ask for. Pure.

https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ lists them; the SDK reads the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from ranger_cdap.config.address import AddressSetting, checked_address
from ranger_cdap.errors import ConfigError

PROTOCOL: Final = "http/protobuf"
_ENDPOINT: Final = "OTEL_EXPORTER_OTLP_ENDPOINT"
_EXAMPLE: Final = "https://collector.example:4318"
_PROTOCOL: Final = "OTEL_EXPORTER_OTLP_PROTOCOL"
_HEADERS: Final = "OTEL_EXPORTER_OTLP_HEADERS"
# Of an entry that is anything else, the SDK would log the value, which may be a secret.
_HEADER: Final = re.compile(r"[A-Za-z0-9._-]+[ \t]*=[\x20\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class TelemetryChoice:
    """The signals to be sent, and the reasons, one sentence each, why a wanted one is not."""

    traces: bool = False
    metrics: bool = False
    problems: tuple[str, ...] = ()

    @property
    def any(self) -> bool:
        """Return whether anything is to be sent."""
        return self.traces or self.metrics


def choice_of(environment: Mapping[str, str]) -> TelemetryChoice:
    """Return what these variables ask for: a signal with an endpoint, or whose exporter is `otlp`.

    A signal is off if a variable asks for what we do not have, or would send the headers, which may be credentials,
    unencrypted to another machine. No sentence has the value of a header.
    """
    given = {name: value.strip() for name, value in environment.items() if name.startswith("OTEL_") and value.strip()}
    if given.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return TelemetryChoice()
    wanted = {signal: _is_wanted(given, signal) for signal in ("TRACES", "METRICS")}
    problems = {signal: tuple(_problems(given, signal)) for signal, wants in wanted.items() if wants}
    traces, metrics = (wants and not problems[signal] for signal, wants in wanted.items())
    return TelemetryChoice(traces, metrics, tuple(dict.fromkeys(each for found in problems.values() for each in found)))


def _is_wanted(given: Mapping[str, str], signal: str) -> bool:
    exporter = given.get(f"OTEL_{signal}_EXPORTER", "").lower()
    if exporter:
        return exporter != "none"
    return _ENDPOINT in given or f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT" in given


def _problems(given: Mapping[str, str], signal: str) -> Iterator[str]:
    name = f"OTEL_{signal}_EXPORTER"
    if given.get(name, "otlp").lower() != "otlp":
        yield f"`{name}` is `{given[name][:80]}`; set it to `otlp` or `none`"
    name = f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL" if f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL" in given else _PROTOCOL
    if given.get(name, PROTOCOL).lower() != PROTOCOL:
        yield (
            f"`{name}` is `{given[name][:80]}`; set it to `{PROTOCOL}`, and the endpoint to the collector's port for "
            "HTTP, usually 4318"
        )
    for name in (_HEADERS, f"OTEL_EXPORTER_OTLP_{signal}_HEADERS"):
        if not all(_is_header(entry.strip(" \t")) for entry in given.get(name, "").split(",")):
            yield f"an entry of `{name}` is not `name=value`; percent-encode characters such as `,` and `;` in values"
    name = f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT" if f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT" in given else _ENDPOINT
    if name in given:
        has_credentials = bool({_HEADERS, f"OTEL_EXPORTER_OTLP_{signal}_HEADERS"} & given.keys())
        try:
            checked_address(given[name], AddressSetting(name, _EXAMPLE), allow_plain_http=not has_credentials)
        except ConfigError as e:
            yield str(e)


def _is_header(entry: str) -> bool:
    value = unquote(entry.partition("=")[2])
    return not entry or (bool(_HEADER.fullmatch(entry)) and value.isascii() and value.isprintable())
