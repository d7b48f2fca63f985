"""Which scripts read attributes of users and groups: those whose outcome is unknown where the attributes are."""

from __future__ import annotations

import pytest

from ranger_cdap.engine import ConditionOutcome
from ranger_cdap.expressions.language import language
from ranger_cdap.expressions.sandbox import context_methods
from ranger_cdap.expressions.script_condition import read_condition
from tests.expressions.fixtures import outcome

SURE = {ConditionOutcome.HOLDS, ConditionOutcome.FAILS}
CALLS = ("ctx.{}() == 1", "ctx.{}('a') == 1", "ctx.{}('a', 'b') == 1", "ctx.{}('a', 'b', 'c') == 1")
SCRIPTS = [
    *(call.format(method) for method in sorted(context_methods()) for call in CALLS),
    *(
        script
        for macro in sorted(language()["macros"])
        for script in (macro, f"{macro} == 1", f"{macro}('a') == 1", f"{macro}('a', 'b') == 1")
    ),
    "USER.dept == 'eng'",
    "USER._name == 'alice'",
    "USER['dept'] == 'eng'",
    "REQ.userAttributes._name == 'alice'",
    "REQ.userAttributes.dept == 'eng'",
    "REQ['userAttributes'].dept == 'eng'",
    "REQ.uga.sVal['site'] == 'A'",
    "UGA.sVal['site'] == 'A'",
    "UG.g1.site == 'A'",
    "REQ.userGroupAttributes.g1.site == 'A'",
    "REQ.user == 'USER'",
    "UGNAMES.includes('g1')",
    "URNAMES.includes('ops')",
    "const u = USER; u._name == 'alice' && u.dept == 'eng'",
]


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_that_needs_attributes_is_known_to(script: str) -> None:
    """Law: whose outcome is sure with the attributes and not without them, it is said to read them; and no other."""
    try:
        condition = read_condition([script], {})
    except ValueError:
        return
    with_them, without = outcome(script), outcome(script, attributes=None)
    if with_them in SURE:
        assert condition.reads_attributes is (without not in SURE)
