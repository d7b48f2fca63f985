"""Where this project differs from Ranger on purpose: every row of docs/reference/compatibility.md, both answers."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from ranger_cdap.engine import EngineOptions, PolicyEngine
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.decode import decode_service_policies
from tests.differential.deliberate_differences import BOTH_MODES, ELSEWHERE, FAILS, REFUSED, SWITCHED, Difference
from tests.differential.java_engine import HarnessError, JavaEngine
from tests.differential.our_engine import AS_RANGER, decide, load, read_request
from tests.differential.small_documents import ASKED, DEFINITION, changed, closed, item, on, policy

ROOT = Path(__file__).parents[2]
ALL = [*SWITCHED, *BOTH_MODES]
each_difference = pytest.mark.parametrize("case", ALL, ids=[f"{n}: {case.row}" for n, case in enumerate(ALL)])


def ours(case: Difference, options: EngineOptions) -> bool | str:
    try:
        without_tags = "tagPolicies" in case.more and "tags" not in case.more
        engine = bare(case, options) if without_tags else load(case.scenario, options)
    except PolicySetError:
        return REFUSED
    return engine.evaluate(read_request(case.asked)).allowed


def bare(case: Difference, options: EngineOptions) -> PolicyEngine:
    """Without any download of tags."""
    return PolicyEngine.build(decode_service_policies(msgspec.json.encode(case.scenario["policies"])), options=options)


@each_difference
def test_our_answer_in_both_modes(case: Difference) -> None:
    assert (ours(case, EngineOptions()), ours(case, AS_RANGER)) == (case.safe, case.ranger)


@pytest.mark.java
@pytest.mark.parametrize("case", [case for case in ALL if case.java is not None], ids=lambda case: case.row)
def test_the_answer_of_java(request: pytest.FixtureRequest, case: Difference) -> None:
    java: JavaEngine = request.getfixturevalue("java_with_javascript" if case.javascript else "java")
    assert of_java(java, case) == case.java


def of_java(java: JavaEngine, case: Difference) -> bool | str:
    try:
        java.load(case.scenario)
        if "deltas" in case.scenario:
            java.apply_deltas(case.scenario["deltas"])
    except HarnessError:
        return REFUSED
    try:
        return bool(java.evaluate([case.asked])[0]["allowed"])
    except (HarnessError, KeyError):
        return FAILS


@pytest.mark.java
def test_a_disabled_policy_that_a_delta_deletes(java: JavaEngine) -> None:
    created, deleted = (changed(kind, {**closed(), "isEnabled": False})["deltas"] for kind in (0, 2))
    download = {"serviceName": "s", "policyVersion": 1, "serviceDef": DEFINITION, "policies": []}
    scenario = {"policies": download, "deltas": [created, deleted], "requests": [ASKED]}
    assert [answers(scenario)[0]["determined"] for answers in (java.decide, decide)] == [True, False]


@pytest.mark.java
def test_java_finds_odd_letters_or_not_by_what_the_policies_were_before(java: JavaEngine) -> None:
    """So no engine that is built of the policies alone can answer as Java does."""
    own = policy(on(r0=["q\u017fx"]), [item()])
    other = {**policy(on(r0=["qz"]), [item()]), "id": 2}
    asked = {**ASKED, "resource": {"r0": "qsx"}}
    download = {"serviceName": "s", "policyVersion": 1, "serviceDef": DEFINITION, "policies": [{**own, "id": 1}]}
    deltas = [changed(kind, other)["deltas"] for kind in (0, 2)]
    before, after = ({"policies": download, "deltas": each, "requests": [asked]} for each in ([], deltas))
    assert [java.decide(scenario)[0]["allowed"] for scenario in (before, after)] == [True, False]
    assert [decide(scenario)[0]["allowed"] for scenario in (before, after)] == [True, True]


def test_only_what_the_mode_switches_is_switched_by_it() -> None:
    assert [case.row for case in SWITCHED if case.java is not None and case.ranger != case.java] == []
    assert [case.row for case in SWITCHED if case.safe is True and case.ranger is False] == []


def test_every_row_of_the_documentation_is_shown() -> None:
    page = (ROOT / "docs" / "reference" / "compatibility.md").read_text(encoding="utf-8")
    text, _, _ = page.partition("## Releases of Ranger")
    rows = [row for row in re.findall(r"^\| (.+?) \|", text, re.MULTILINE) if row not in ("what", "---")]
    shown = list(dict.fromkeys([*(case.row for case in ALL), *ELSEWHERE]))
    assert sorted(rows) == sorted(shown)
    for path, words in ELSEWHERE.values():
        assert words in (ROOT / "tests" / path).read_text(encoding="utf-8")
