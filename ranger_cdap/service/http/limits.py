"""Bounds of a decision service that suit every installation; those that depend on its load are settings."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Bounds of a service; a service has the defaults."""

    batch: int = 5_000
    """Entities, records or decisions of a request."""
    requests: int = 256
    """Requests at once; half of them of one caller, all of one with `enforce`."""
    idle_seconds: float = 15.0
    """After which a connection without a request, or whose client does not read, is closed."""
    request_seconds: float = 10.0
    """To receive a request, from its first byte to its last."""
    stop_seconds: float = 10.0
    """For requests in progress at the end."""
