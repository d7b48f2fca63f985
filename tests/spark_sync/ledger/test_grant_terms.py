"""How many grants are by former settings, by the ledger alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ranger_cdap.cdap.entity import EntityId
from spark_sync.ledger.event import Position
from spark_sync.ledger.grant_terms import NO_ACCESS_TO_TYPE, GrantGroup, outdated_grants
from spark_sync.ledger.life import MANUAL_TERMS, GrantTerms, Life, State

ALL = ("read", "write", "admin", "execute")
NOW = GrantTerms("default")
GRANTED = Life(
    EntityId("dataset", ("ns1", "kv")),
    1,
    "alice",
    Position(1, False, "", ""),
    State.APPLIED,
    accesses=ALL,
    policy_id=7,
    terms=NOW,
)
WITHOUT = replace(GRANTED, state=State.KNOWN, accesses=(), policy_id=-1, reason=NO_ACCESS_TO_TYPE)
DELEGATED = replace(GRANTED, terms=GrantTerms("default", delegate_admin=True))

CASES = {
    "as today": (GRANTED, False),
    "by a profile that gives the same": (replace(GRANTED, terms=GrantTerms("003")), False),
    "by a profile that gives other access types": (replace(GRANTED, accesses=("admin",)), True),
    "its access types in another order": (replace(GRANTED, accesses=ALL[::-1]), False),
    "delegated": (DELEGATED, True),
    "with another plugin": (replace(GRANTED, terms=GrantTerms("default", plugins="acme 1.0")), True),
    "delegated, pending, so sent by today's settings": (replace(DELEGATED, state=State.PENDING, policy_id=-1), False),
    "pending by another profile": (replace(GRANTED, state=State.PENDING, accesses=("admin",)), True),
    "nothing by a profile that gave nothing": (WITHOUT, True),
    "nothing, released": (replace(WITHOUT, terms=MANUAL_TERMS), False),
    "adopted": (replace(GRANTED, accesses=("admin",), terms=MANUAL_TERMS), False),
    "by settings that are not recorded": (replace(GRANTED, terms=None), False),
    "by settings that are not recorded, of another profile": (replace(GRANTED, terms=None, accesses=("admin",)), True),
    "without a creator": (replace(WITHOUT, creator=None), False),
    "blocked": (replace(GRANTED, state=State.BLOCKED, accesses=("admin",)), False),
    "contested": (replace(GRANTED, state=State.CONTESTED, creator=None, accesses=("admin",)), False),
    "suspended": (replace(GRANTED, state=State.SUSPENDED, accesses=("admin",)), False),
    "deleted": (replace(GRANTED, state=State.CLOSED, accesses=("admin",)), False),
}


@pytest.mark.parametrize(("life", "outdated"), CASES.values(), ids=CASES)
def test_a_grant_is_outdated_if_the_settings_would_decide_it_otherwise(life: Life, outdated: bool) -> None:
    found = outdated_grants([(GrantGroup.of(life), 3)], {"dataset": ALL}, NOW)
    assert (found.total, dict(found.former)) == ((3, {life.terms: 3}) if outdated else (0, {}))


def test_settings_name_themselves() -> None:
    assert str(NOW) == "default"
    everything = GrantTerms("004", delegate_admin=True, plugins="acme 1.0")
    assert str(everything) == "004 + delegate_admin + plugins acme 1.0"
