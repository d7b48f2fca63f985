"""Settings of a plan for tests: those that a test does not name are the plainest."""

from __future__ import annotations

from typing import Any

from ranger_cdap.cdap.entity import EntityId
from ranger_cdap.engine import AS_GIVEN
from spark_sync.grants.plan import PlanSettings


def planning(service: str = "cdapdev", *non_creators: str, **given: Any) -> PlanSettings:
    """Return settings for the instance `cdap`, whose profile the grants need not follow unless `gives` is given."""
    plain: dict[str, Any] = {
        "names": AS_GIVEN,
        "delegate_admin": False,
        "resultant": unchanged_accesses,
        "on_deletion": None,
        "administrators": frozenset(),
        "profile": "",
        "gives": {},
        "plugins": "",
        "follow_zones": False,
    }
    return PlanSettings("cdap", service, frozenset(non_creators), **plain | given)


def unchanged_accesses(_entity: EntityId, _user: str, accesses: tuple[str, ...]) -> tuple[str, ...]:
    """Return the accesses unchanged, whatever plugins are installed."""
    return accesses
