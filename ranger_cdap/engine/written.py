"""The policies of an engine as they were written, for programs that look at policies and do not decide by them."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ranger_cdap.engine.engine import PolicyEngine


def written_policies(engine: PolicyEngine) -> Iterator[msgspec.Raw]:
    """Every policy that has an effect on access, in whatever zone, as it came from Ranger Admin."""
    parts = engine._parts
    for policies in (parts.default, *parts.zones.values()):
        for record in policies.all():
            yield record.raw
