"""Scripts of the whole grammar against Ranger's engine with GraalJS: each decides as there, or is refused."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from typing import Any

import pytest

from ranger_cdap.engine import ConditionOutcome
from ranger_cdap.expressions import NotInSubset
from ranger_cdap.expressions.script_condition import ScriptCondition, read_condition
from tests.differential.java_engine import JavaEngine
from tests.differential.our_engine import read_request
from tests.differential.script_programs import Program
from tests.differential.small_documents import item, on, policy
from tests.differential.strategies import numbered
from tests.differential.test_java_scripts import DEFINITION, FULL, ROLES, USERS, ours
from tests.fuzz.harness import INPUTS

pytestmark = pytest.mark.java

AT_ONCE = 400
HOLDS_IN_JAVA = {
    ConditionOutcome.HOLDS: True,
    ConditionOutcome.UNKNOWN_HOLDS: True,
    ConditionOutcome.FAILS: False,
    ConditionOutcome.UNKNOWN_FAILS: False,
}
"""What Java makes of a script, by our outcome; of the others it is not known."""


def condition_of(script: str) -> ScriptCondition | None:
    try:
        return read_condition([script], {})
    except NotInSubset:
        return None


def differences(java: JavaEngine, scripts: Iterable[str], tally: Counter[str]) -> list[str]:
    """The scripts that are not refused, and as the condition of an allow item decide otherwise in Java."""
    found = []
    accepted = [(script, condition) for script in scripts if (condition := condition_of(script))]
    policies = [
        policy(on(r0=[f"s{n}"], r1=["*"]), [item(conditions=[{"type": "_expression", "values": [script]}])])
        for n, (script, _) in enumerate(accepted)
    ]
    download: dict[str, Any] = {"serviceName": "s", "policyVersion": 1, "serviceDef": DEFINITION}
    given = {"policies": {**download, "policies": numbered(policies)}, "userStore": USERS, "roles": ROLES}
    requests = [{**FULL, "resource": {"r0": f"s{n}", "r1": "x"}} for n in range(len(accepted))]
    java.load(given)
    engine = ours({**given, "policies": {**download, "policies": []}}, "ranger")
    for (script, condition), request, answer in zip(accepted, requests, java.evaluate(requests), strict=True):
        outcome = condition(engine.context_of(read_request(request)))
        tally.update(("accepted", outcome.name))
        if HOLDS_IN_JAVA.get(outcome, answer["allowed"]) is not answer["allowed"]:
            found.append(f"{outcome.name} here, {answer['allowed']} in Ranger: {script!r}")
    return found


def test_a_program_decides_as_in_ranger_or_is_refused(java_with_javascript: JavaEngine) -> None:
    programs, tally, found = (Program(number).text() for number in range(INPUTS)), Counter[str](), list[str]()
    while some := list(islice(programs, AT_ONCE)):
        found += differences(java_with_javascript, some, tally)
    sys.stdout.write(f"{INPUTS} scripts: {dict(tally)}, different: {len(found)}\n")
    assert not found, "\n".join(found)
    assert tally["accepted"] > INPUTS // 3
    assert min(tally["HOLDS"], tally["FAILS"]) > INPUTS // 20


WRITTEN = (
    "var ok = IS_IN_GROUP('g1'); if (ok) { true; } else { false; }",
    "if (UGNAMES.some(function (g) { var h = g; return h == 'g1' })) { UGNAMES.some(g => { let h = g; return !!h; }) }",
    "UGNAMES.some(g => g == 'g1') || URNAMES.some(g => g == 'ops')",
    "function has(list, value) { if (list) { const found = list.includes(value); return found; } } has(UGNAMES, 'g1')",
    "var f = function g(n) { return n < 1 ? true : g(n - 1); }; f(3)",
    "const g = 1; UGNAMES.some(g => g == 'g1')",
    "ctx.setResult(true) === null",
    "IS_IN_GROUP('g1') && (GET_USER_ATTR('level') ?? '1') == '7'",
    "(USER.nope ?? UG.g1.site ?? 'x') == 'A' && !!(USER.nope ?? true)",
)


def test_grammar_that_engines_read_alike_is_evaluated(java_with_javascript: JavaEngine) -> None:
    tally = Counter[str]()
    assert not differences(java_with_javascript, WRITTEN, tally)
    assert tally["HOLDS"] == len(WRITTEN)
