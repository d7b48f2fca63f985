"""Allow, deny, their exceptions, deny-all-else and priorities: every combination of two policies, none drawn by chance.

A policy is one of 32 forms: each of the four lists of items there or not, deny-all-else or not. Two policies on one
resource are 1,024 sets, with three relations of their priorities and with denies switched off or on 6,144. Four people
ask in each: one who is named in every list of both policies, in those of one of them, in none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, product
from typing import Any

import pytest

from ranger_cdap.engine import EngineOptions
from tests.differential.comparing import FIELDS
from tests.differential.java_engine import JavaEngine
from tests.differential.our_engine import AS_RANGER, decide
from tests.differential.reference_engine import evaluate

Json = dict[str, Any]
Form = tuple[bool, bool, bool, bool, bool]
Answers = list[Json]

SIDES = ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions")
FORMS: list[Form] = list(product((False, True), repeat=5))
SETS = list(product(FORMS, FORMS))
NAMED_IN = {"both": (0, 1), "first": (0,), "second": (1,), "nobody": ()}
ASKED = [(forms, user) for forms in SETS for user in NAMED_IN]

every_setting = pytest.mark.parametrize(
    ("priorities", "with_denies"),
    list(product([(0, 0), (0, 1), (1, 0)], [True, False])),
    ids=str,
)


def policy(place: int, which: int, form: Form, priority: int) -> Json:
    users = [user for user, policies in NAMED_IN.items() if which in policies]
    item = {"users": users, "accesses": [{"type": "read"}]}
    sides = {side: [item] for side, is_there in zip(SIDES, form[:4], strict=True) if is_there}
    identity = {"id": 2 * place + which, "version": 1, "name": f"{place} {which}", "policyPriority": priority}
    return {**identity, "resources": {"place": {"values": [str(place)]}}, **sides, "isDenyAllElse": form[4]}


def download(policies: Sequence[Json], with_denies: bool) -> Json:
    definition = {
        "name": "s",
        "resources": [{"name": "place", "matcherOptions": {"ignoreCase": "false"}}],
        "accessTypes": [{"name": "read"}],
        "options": {"enableDenyAndExceptionsInPolicies": str(with_denies).lower()},
    }
    return {"serviceName": "s", "policyVersion": 1, "serviceDef": definition, "policies": policies}


def request(place: int, user: str) -> Json:
    return {"resource": {"place": str(place)}, "user": user, "accessType": "read"}


def sets(priorities: tuple[int, int]) -> list[list[Json]]:
    """Each set on a place of its own, so that one download can hold them all."""
    return [
        [policy(place, which, form, priorities[which]) for which, form in enumerate(forms)]
        for place, forms in enumerate(SETS)
    ]


def decided(judge: Callable[[Json], Sequence[Json]], priorities: tuple[int, int], with_denies: bool) -> Answers:
    policies = list(chain.from_iterable(sets(priorities)))
    requests = [request(place, user) for place, user in product(range(len(SETS)), NAMED_IN)]
    return [dict(answer) for answer in judge({"policies": download(policies, with_denies), "requests": requests})]


def by_reference(priorities: tuple[int, int], with_denies: bool) -> Answers:
    return [
        evaluate(download(policies, with_denies), {}, request(place, user))
        for (place, policies), user in product(enumerate(sets(priorities)), NAMED_IN)
    ]


def in_words(forms: tuple[Form, Form], user: str, priorities: tuple[int, int], with_denies: bool) -> bool:
    """Of those that say something the policy of the highest priority decides; among equals a denial does."""
    said = []
    for which, (allow, deny, allow_exception, deny_exception, deny_all_else) in enumerate(forms):
        named = which in NAMED_IN[user]
        if with_denies and named and deny and not deny_exception:
            said.append((priorities[which], "deny"))
        elif named and allow and not (with_denies and allow_exception):
            said.append((priorities[which], "allow"))
        elif deny_all_else:
            said.append((priorities[which], "deny"))
    return bool(said) and min(said, key=lambda each: (-each[0], each[1] == "allow"))[1] == "allow"


def differences(ours: Answers, theirs: Answers) -> list[tuple[Any, Json, Json]]:
    return [
        (asked, our, their)
        for asked, our, their in zip(ASKED, ours, theirs, strict=True)
        if any(our[name] != their[name] for name in FIELDS if name in their)
    ]


@every_setting
@pytest.mark.parametrize("options", [EngineOptions(), AS_RANGER], ids=["safe", "ranger"])
def test_our_engine_decides_as_the_rule_in_words_says(
    options: EngineOptions, priorities: tuple[int, int], with_denies: bool
) -> None:
    ours = decided(lambda scenario: decide(scenario, options), priorities, with_denies)
    wrong = [
        asked
        for asked, answer in zip(ASKED, ours, strict=True)
        if answer["allowed"] != in_words(*asked, priorities, with_denies)
    ]
    assert wrong == []


@every_setting
def test_our_engine_decides_as_the_reference_engine_does(priorities: tuple[int, int], with_denies: bool) -> None:
    ours = decided(decide, priorities, with_denies)
    assert differences(ours, by_reference(priorities, with_denies)) == []


@pytest.mark.java
@every_setting
def test_our_engine_decides_as_java_does(java: JavaEngine, priorities: tuple[int, int], with_denies: bool) -> None:
    ours = decided(decide, priorities, with_denies)
    assert differences(ours, decided(java.decide, priorities, with_denies)) == []
