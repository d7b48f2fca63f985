"""The access that the Java predecessor asked for, and the operations that it may have been."""

from __future__ import annotations

import pytest

from ranger_cdap.cdap.checks.predecessor_access import action_of, action_of_access
from tests.cdap.checks.predecessor_answers import KINDS, old_access, recorded

ACTIONS = [
    ("DATASET", "STANDARD.GET", "READ"),
    ("SECUREKEY", "STANDARD.GET", "READ"),
    ("DATASET", "STANDARD.UPDATE", "WRITE"),
    ("DATASET", "STANDARD.DELETE", "ADMIN"),
    ("APPLICATION", "STANDARD.GET", "VISIBLE"),
    ("APPLICATION", "STANDARD.UPDATE", "ADMIN"),
    ("APPLICATION", "APPLICATION.EXECUTE", "EXECUTE"),
    ("NAMESPACE", "STANDARD.LIST", "ADMIN"),
    ("INSTANCE", "STANDARD.GET", "VISIBLE"),
    ("KERBEROSPRINCIPAL", "ACCESS.SET_OWNER", "ADMIN"),
    ("DATASET", "ACTION.READ", "READ"),
    ("STREAM", "ACTION.WRITE", "WRITE"),
]


@pytest.mark.parametrize(("kind", "permission", "action"), ACTIONS)
def test_a_permission_is_one_action_on_the_entity_alone(kind: str, permission: str, action: str) -> None:
    assert action_of(kind, permission) == action


def test_the_action_of_each_recorded_check_is_that_of_the_old_jar() -> None:
    examined = 0
    for check in recorded():
        if check.entity_type in KINDS and check.child_type is None:
            for permission in check.permissions:
                access = old_access(check, permission)
                assert action_of(check.entity_type, permission) == action_of_access(access), (check, permission)
                examined += 1
    assert examined > 50
