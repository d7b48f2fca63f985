"""Bounds of a decision service that suit every installation."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Bounds of a service; a service has the defaults."""

    batch: int = 5_000
    """Entities, records or decisions of a request."""
    body: int = 4_000_000
    """Bytes of a request; 5,000 records, as CDAP's extension sends them, are shorter."""
    connections: int = 512
    """Half of them of one address; at least 256 below the limit of open files. CDAP's master opens some sixty."""
    rate: int = 1_000
    """Requests per second of a caller without `enforce`, or of an address without one; a process answers few more."""
    requests: int = 256
    """Requests at once; half of them of one caller, all of one with `enforce`."""
    idle_seconds: float = 15.0
    """After which a connection without a request, or whose client does not read, is closed."""
    request_seconds: float = 10.0
    """To receive a request, from its first byte to its last."""
    stop_seconds: float = 10.0
    """For requests in progress at the end."""
