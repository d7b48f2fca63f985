"""A higher priority beats a lower one, whatever the two say (ranger-semantics.md §6.7)."""

from tests.laws.cases import Case, effects, policies
from tests.laws.law import Law


def test_the_highest_priority_that_says_something_decides(law: Law) -> None:
    def demand(case: Case) -> bool | None:
        said = effects(case.policies, case)
        highest = max((priority for priority, _ in said), default=0)
        return bool(said) and all(effect for priority, effect in said if priority == highest)

    law.holds(policies(priorities=(-1, 0, 1)), demand)


def test_a_silent_policy_of_high_priority_changes_nothing(law: Law) -> None:
    def demand(case: Case) -> bool | None:
        *others, silent = case.policies
        said = [effect for _, effect in effects(others, case)]
        return None if effects([silent], case) else bool(said) and all(said)

    low, high = policies(), policies(most=1, priorities=(1,), deny_all_else=[False])
    law.holds(lambda random: [*low(random), *high(random)], demand)
