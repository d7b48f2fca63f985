"""Checks of `[groups]` that need no server; a source that has servers checks them by a hook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from ranger_cdap.config import GroupSettings
from ranger_cdap.doctor.finding import Finding, note, well

_SHORT: Final = 3600.0


def examine_group_sources(groups: GroupSettings) -> Iterator[Finding]:
    """Check how long groups are kept, and report what a source does not know."""
    if groups.ttl > _SHORT:
        yield note(
            "groups",
            f"a user who leaves a group keeps its access for {groups.ttl:g} s",
            "lower `groups.ttl`",
        )
    if "posix" in groups.sources:
        yield well("groups of this machine", "users unknown to it, or to its name service, count in every deny")
