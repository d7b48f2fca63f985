"""An exception cancels its own side of its own policy, and nothing of any other (ranger-semantics.md §6.6)."""

from tests.laws.cases import ALLOW, ALLOW_EXCEPTIONS, DENY, DENY_EXCEPTIONS, Case, hits, policies
from tests.laws.law import Law


def test_an_allow_stands_although_another_policy_excepts_the_user(law: Law) -> None:
    def demand(case: Case) -> bool | None:
        alone = [p for p in case.policies if hits(p, ALLOW, case) and not hits(p, ALLOW_EXCEPTIONS, case)]
        return bool(alone)

    law.holds(policies(ALLOW, ALLOW_EXCEPTIONS, deny_all_else=[False]), demand)


def test_a_denial_stands_although_another_policy_excepts_the_user(law: Law) -> None:
    def demand(case: Case) -> bool | None:
        alone = [p for p in case.policies if hits(p, DENY, case) and not hits(p, DENY_EXCEPTIONS, case)]
        return False if alone else None

    law.holds(policies(), demand)
