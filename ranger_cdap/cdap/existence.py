"""`Existence`: what is known of an entity that CDAP may be about to replace under the check for creating it. Pure.

CDAP deploys an application again, and stores a secure key again, under the check that creates one. The table
`checks.toml` names the operation that this is for an entity that exists.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from ranger_cdap.cdap.entity import EntityId


class Existence(StrEnum):
    """Knowledge about an entity: it certainly exists, certainly does not, or neither is known."""

    THERE = "there"
    ABSENT = "absent"
    UNKNOWN = "unknown"


ExistenceOf = Callable[[EntityId], Existence]
"""Return what is known of an entity."""


def unknown_existence(_entity: EntityId) -> Existence:
    """Return what is known of any entity where nothing remembers them."""
    return Existence.UNKNOWN
