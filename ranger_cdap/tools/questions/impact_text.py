"""Rows of access and of its changes as sentences."""

from __future__ import annotations

from collections.abc import Iterator

from ranger_cdap.engine import AccessRequest
from ranger_cdap.tools.analysis.access_row import AccessRow


def headline(row: AccessRow) -> str:
    """Return `group analysts gains write on dataset cdap/ns1/sales.*`."""
    verb = "gain" if row.gained else "lose"
    verb = f"{verb}s" if row.witnesses else f"may {verb}"
    return f"{', '.join(row.who)} {verb} {', '.join(row.accesses)} on {row.place}"


def limits(row: AccessRow) -> Iterator[str]:
    """Yield what limits a row, as sentences without a stop."""
    if row.conditions:
        yield f"if {' and '.join(row.conditions)}"
    yield from (f"except {text}" for text in row.exceptions)
    if row.partial:
        yield "in part: both sets allow the rest"
    if row.doubts:
        yield f"undecided: {', '.join(row.doubts)}"
    if row.times:
        yield f"recorded {row.times:,} time{'s' * (row.times != 1)}"


def notes(row: AccessRow) -> Iterator[str]:
    """Yield what limits a row, and an example of it."""
    yield from limits(row)
    for witness in list(row.witnesses.values())[:1]:
        yield f"for example {request_text(witness.request)}"


def request_text(request: AccessRequest) -> str:
    """Return a request as `someone in analysts: write on namespace=ns1 (from 10.1.0.1)`."""
    groups = f" in {', '.join(sorted(request.groups))}" if request.groups else ""
    roles = f" with role {', '.join(sorted(request.roles))}" if request.roles else ""
    where = ", ".join(f"{name}={value}" for name, value in request.resource.items()) or "no resource"
    more = [f"from {request.client_ip}"] if request.client_ip else []
    more += [f"owned by {request.owner}"] if request.owner else []
    more += [f"for action {request.action}"] if request.action else []
    more += [f"{name}={value}" for name, value in request.context.items()]
    ending = f" ({', '.join(more)})" if more else ""
    user = "a request without a user" if request.user is None else request.user
    return f"{user}{groups}{roles}: {request.access_type} on {where}{ending}"
