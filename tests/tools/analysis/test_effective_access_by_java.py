"""Each row of effective access has a witness, and each look-up an answer, that Ranger's Java engine confirms."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from ranger_cdap.engine import Verdict
from ranger_cdap.errors import PolicySetError
from ranger_cdap.tools.analysis.access_paths import CellFinder
from ranger_cdap.tools.analysis.effective_access import AccessScope, effective_access
from ranger_cdap.tools.analysis.logic.witness import Witness
from ranger_cdap.tools.analysis.subject import Subject
from tests.differential.java_engine import JavaEngine
from tests.tools.analysis.small_sets import ACCESSES, engine, requests, scenario
from tests.tools.analysis.test_effective_access_laws import GROUPS, SUBJECTS, paths
from tests.tools.analysis.test_witnesses_by_java import answers, of_one_priority

pytestmark = pytest.mark.java

NUMBER, ASKED = 60, 40


@pytest.mark.parametrize("kind", ["plain", "macros", "zones", "tags", "zones+tags"])
def test_java_confirms_what_a_user_reaches_and_what_is_taken_away(java: JavaEngine, kind: str) -> None:
    features, confirmed = frozenset(kind.split("+")), Counter[str]()
    for number in range(NUMBER):
        random = Random(number)
        documents = scenario(random, features)
        if "tags" in features:
            documents = of_one_priority(documents)
        try:
            judge = engine(documents, "ranger")
        except PolicySetError:
            continue  # a policy that Java reads in another way
        user = Subject(random.choice(SUBJECTS), random.choice(GROUPS), may_own=True)
        found = effective_access(judge, AccessScope(ACCESSES, paths(judge)[1:], {}, user))
        for what, rows in (("allowed", found.allowed), ("denied", found.taken)):
            witnesses = [row.witness for row in rows if row.witness is not None]
            assert set(answers(java, documents, witnesses, judge)) <= {what == "allowed"}, number
            confirmed[what] += len(witnesses)
    assert min(confirmed["allowed"], confirmed["denied"]) > NUMBER // 2, confirmed


@pytest.mark.parametrize("kind", ["plain", "macros", "zones", "tags", "zones+tags"])
def test_java_decides_as_a_look_up_says(java: JavaEngine, kind: str) -> None:
    features, counted = frozenset(kind.split("+")), Counter[bool]()
    for number in range(NUMBER):
        random = Random(number)
        documents = scenario(random, features)
        if "tags" in features:
            documents = of_one_priority(documents)
        try:
            judge = engine(documents, "ranger")
        except PolicySetError:
            continue  # a policy that Java reads in another way
        # Java takes a missing time for now, and gives the root every tag.
        universe = [one for one in requests(features, "read") if one.resource and one.user and one.access_time]
        cells = CellFinder(judge)
        chosen = random.sample(universe, ASKED)
        decided = answers(java, documents, [Witness(one) for one in chosen], judge)
        for request, allowed in zip(chosen, decided, strict=True):
            assert (cells.lookup(request).verdict is Verdict.ALLOWED) is allowed, (number, request)
            counted[allowed] += 1
    assert min(counted[True], counted[False]) > NUMBER, counted
