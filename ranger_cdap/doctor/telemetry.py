"""Checks of the OpenTelemetry collector that `OTEL_*` variables name; nothing is checked without them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from ranger_cdap.doctor.finding import Finding, failed, well
from ranger_cdap.telemetry.choice import choice_of
from ranger_cdap.telemetry.start import INSTALL

_CHECK = "OpenTelemetry"


def examine_telemetry(environment: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """Check the variables, the extra, and the collector by exports of nothing."""
    choice = choice_of(os.environ if environment is None else environment)
    for problem in choice.problems:
        yield failed(_CHECK, problem, "correct the variable, or set `OTEL_SDK_DISABLED=true`; decisions do not need it")
    if not choice.any:
        return
    try:
        from ranger_cdap.telemetry.probe import probe
    except ModuleNotFoundError as e:
        yield failed(_CHECK, f"`{e.name}` is not installed, so nothing is sent", f"install it with: {INSTALL}")
        return
    for signal, problem in probe(choice).items():
        check = f"{_CHECK}: {signal}"
        if problem:
            yield failed(check, problem, "start the collector, or correct the `OTEL_EXPORTER_OTLP_*` variables")
        else:
            yield well(check, "the collector accepts them")
