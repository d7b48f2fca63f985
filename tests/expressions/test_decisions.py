"""Scripts in policies: what each list makes of an outcome, what is unknown, and that nothing else pays for them."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from typing import Any

import msgspec
import pytest

from ranger_cdap.engine import EngineOptions, PolicyEngine, ProblemCode
from ranger_cdap.expressions import EVALUATOR, script_condition, script_conditions
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.download import UserStore
from tests.engine.fixtures import asks, document, item, on, policy
from tests.expressions.fixtures import STORE

HOLDS, FAILS, BROKEN, REFUSED = "REQ.user == 'alice'", "IS_IN_GROUP('nobody')", "USER.nope.x == 1", "new Date() > 0"


def engine(script: str, side: str, *, attributes: UserStore | None = STORE, **options: Any) -> PolicyEngine:
    given = [{"type": "script", "values": [script]}]
    conditioned, plain = item("alice", "read", conditions=given), item("alice", "read")
    lists: dict[str, dict[str, Any]] = {
        "allow": {"policyItems": [conditioned]},
        "deny": {"policyItems": [plain], "denyPolicyItems": [conditioned]},
        "allow exception": {"policyItems": [plain], "allowExceptions": [conditioned]},
        "deny exception": {"policyItems": [plain], "denyPolicyItems": [plain], "denyExceptions": [conditioned]},
        "whole policy": {"policyItems": [plain], "conditions": given},
    }
    return PolicyEngine.build(
        decode_service_policies(msgspec.json.encode(document(policy(1, on(hall="h"), **lists[side])))),
        attributes=attributes,
        options=EngineOptions(conditions=script_conditions(), **options),
    )


@pytest.mark.parametrize(
    ("side", "holds", "fails", "unknown", "broken_in_ranger", "refused_in_ranger"),
    [
        ("allow", True, False, False, False, False),
        ("deny", False, True, False, True, False),
        ("allow exception", False, True, False, True, False),
        ("deny exception", True, False, False, False, False),
        ("whole policy", True, False, False, False, False),
    ],
)
def test_what_each_side_makes_of_an_outcome(
    side: str, holds: bool, fails: bool, unknown: bool, broken_in_ranger: bool, refused_in_ranger: bool
) -> None:
    def allowed(script: str, **options: Any) -> bool:
        return engine(script, side, **options).evaluate(asks({"hall": "h"})).allowed

    assert (allowed(HOLDS), allowed(FAILS), allowed(BROKEN), allowed(REFUSED)) == (holds, fails, unknown, unknown)
    in_ranger = allowed(BROKEN, compatibility="ranger"), allowed(REFUSED, compatibility="ranger")
    assert in_ranger == (broken_in_ranger, refused_in_ranger)


NEEDS = {
    "an address": ("REQ.clientIPAddress != '10.9.9.9'", {"client_ip": "10.0.0.1"}),
    "a time": ("IS_ACCESS_TIME_AFTER('2020/01/01')", {"access_time": 1_700_000_000_000}),
    "an action": ("REQ.action != 'drop'", {"action": "query"}),
    "groups that are known": ("!IS_IN_GROUP('blocked')", {"groups_known": True}),
}


@pytest.mark.parametrize(("script", "given"), NEEDS.values(), ids=NEEDS)
def test_what_a_request_lacks_never_allows(script: str, given: dict[str, Any]) -> None:
    whole = asks({"hall": "h"}, **given)
    lacking = {"client_ip": None, "access_time": 0, "action": None, "groups_known": False}
    without = msgspec.structs.replace(whole, **{name: lacking[name] for name in given})
    for side in ("allow", "whole policy"):
        assert engine(script, side).evaluate(whole).allowed
        assert not engine(script, side).evaluate(without).allowed
    assert not engine(f"!({script})", "deny").evaluate(without).allowed


def test_attributes_are_those_of_the_users_that_are_downloaded() -> None:
    asked = asks({"hall": "h"})
    before = engine("USER.dept == 'eng'", "allow", attributes=None)
    assert not before.evaluate(asked).allowed
    assert before.with_attributes(STORE).evaluate(asked).allowed
    assert not before.with_attributes(UserStore()).evaluate(asked).allowed
    assert engine("USER._name == 'alice'", "allow", attributes=None).evaluate(asked).allowed
    assert not engine("USER.dept != 'hr'", "allow", attributes=None).evaluate(asked).allowed


@pytest.mark.parametrize(
    ("script", "is_told"),
    [("RES.hall == 'h'", False), ("REQ['resource'] != 1", False), (HOLDS, False), ("IS_IN_GROUP('g')", True)],
)
def test_a_pattern_is_not_told_by_an_example_if_a_script_looks_at_it(script: str, is_told: bool) -> None:
    assert (engine(script, "deny").named_values(asks({"hall": "x"}), ("hall",)) is not None) is is_told


def test_a_rejected_script_says_why() -> None:
    (problem,) = engine(REFUSED, "deny").problems
    assert problem.code is ProblemCode.UNUSABLE_CONDITION
    assert "because `new` is not in the subset: it allows nothing, and denials apply" in problem.message


def test_without_the_extra_scripts_are_a_kind_that_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> str:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(script_condition, "version", missing)
    assert condition_factories(plugin_manager(entry_points=False)) == {}
    without = engine(HOLDS, "allow")
    assert [problem.code for problem in without.problems] == [ProblemCode.UNUSABLE_CONDITION]
    assert not without.evaluate(asks({"hall": "h"})).allowed


class OwnConditions:
    """A plugin that evaluates scripts by itself."""

    @staticmethod
    def of(values: Any, options: Any) -> Any:
        return lambda context: True


def test_the_script_conditions_of_a_plugin_go_before_ours() -> None:
    from ranger_cdap.plugins.hookspecs import hookimpl

    class Plugin:
        @hookimpl
        def ranger_cdap_conditions(self) -> Any:
            return {EVALUATOR: OwnConditions.of}

    manager = plugin_manager(entry_points=False)
    assert list(condition_factories(manager)) == [EVALUATOR]
    manager.register(Plugin())
    assert condition_factories(manager) == {EVALUATOR: OwnConditions.of}


def test_policies_without_scripts_do_not_load_quickjs() -> None:
    program = """
import sys
from tests.expressions.test_decisions import engine
from tests.engine.fixtures import asks
engine("true", "allow", compatibility="safe") if len(sys.argv) > 1 else None
from ranger_cdap.plugins.manager import condition_factories, plugin_manager
condition_factories(plugin_manager())
print("quickjs" in sys.modules)
"""
    for arguments, loaded in (([], "False"), (["scripts"], "True")):
        done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == loaded


def test_a_context_of_a_tag_that_is_not_known_is_no_tag() -> None:
    from tests.expressions.fixtures import FULL, PII, outcome

    known = replace(FULL, tag=PII, tag_attributes=dict(PII.attributes))
    assert outcome("TAG.level == 3", known).name == "HOLDS"
    assert outcome("TAG.level == 3", replace(known, tag=None)).name == "UNKNOWN"
    assert outcome("RES.tag == 'PII' && RES.namespace === undefined", known).name == "HOLDS"
