"""A tag denies, and one policy of higher priority matches and says nothing before another one allows."""

from __future__ import annotations

from typing import Any

import pytest

from ranger_cdap.engine import EngineOptions
from tests.differential.deliberate_differences import Difference
from tests.differential.java_engine import JavaEngine
from tests.differential.our_engine import AS_RANGER, answer, load, read_request
from tests.differential.small_documents import TAG_CLOSES, A, item, policy, tagged

Json = dict[str, Any]

ALLOWS = policy(A, [item()], policyPriority=1)
SILENT: dict[str, Json] = {
    "an allow for another user": policy(A, [item(users=["bob"], groups=[])], policyPriority=2),
    "a denial of another user": policy(A, [], [item(users=["bob"], groups=[])], policyPriority=2),
    "an allow for another access type": policy(A, [item("write")], policyPriority=2),
    "a denial of another access type": policy(A, [], [item("write")], policyPriority=2),
}


def scenario(silent: Json, audited: bool = True) -> Json:
    """Whether the tag's policy is audited decides only which policies are looked at after it."""
    more = tagged({**TAG_CLOSES, "isAuditEnabled": audited})
    return Difference("", None, False, False, [silent, ALLOWS], more).scenario


@pytest.mark.parametrize("options", [EngineOptions(), AS_RANGER], ids=["safe", "ranger"])
@pytest.mark.parametrize("audited", [True, False])
@pytest.mark.parametrize("silent", SILENT.values(), ids=SILENT)
def test_the_denial_stands_however_it_is_asked(silent: Json, audited: bool, options: EngineOptions) -> None:
    engine = load(scenario(silent, audited), options)
    asked = read_request(scenario(silent)["requests"][0])
    assert engine.evaluate(asked).allowed is False
    assert answer(engine.explain(asked)) == answer(engine.evaluate(asked))


@pytest.mark.parametrize("options", [EngineOptions(), AS_RANGER], ids=["safe", "ranger"])
def test_a_policy_without_items_changes_nothing(options: EngineOptions) -> None:
    engine = load(scenario(policy(A, [], policyPriority=2)), options)
    assert engine.evaluate(read_request(scenario(ALLOWS)["requests"][0])).allowed is True


@pytest.mark.java
@pytest.mark.parametrize("silent", ["an allow for another access type", "a denial of another access type"])
def test_java_denies_until_all_items_have_been_evaluated_once(java: JavaEngine, silent: str) -> None:
    given = scenario(SILENT[silent])
    java.load(given)
    assert [java.evaluate(given["requests"])[0]["allowed"] for _ in range(3)] == [False, True, True]


@pytest.mark.java
@pytest.mark.parametrize("silent", ["an allow for another user", "a denial of another user"])
def test_java_denies_while_none_of_the_users_has_asked(java: JavaEngine, silent: str) -> None:
    given = scenario(SILENT[silent])
    java.load(given)
    assert [java.evaluate(given["requests"])[0]["allowed"] for _ in range(3)] == [False, False, False]
