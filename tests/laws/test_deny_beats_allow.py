"""Of policies with one priority a single denial beats every allow (ranger-semantics.md §6.7)."""

from tests.laws.cases import Case, effects, policies
from tests.laws.law import Law


def test_deny_beats_allow_of_equal_priority(law: Law) -> None:
    def demand(case: Case) -> bool | None:
        said = [effect for _, effect in effects(case.policies, case)]
        return all(said) if said else False

    law.holds(policies(), demand)
