"""One policy denies, allows, or is silent, in this order of precedence (ranger-semantics.md §6.6)."""

from tests.laws.cases import ALLOW, ALLOW_EXCEPTIONS, DENY, DENY_EXCEPTIONS, Case, hits, policies
from tests.laws.law import Law


def test_a_deny_item_without_its_exception_denies(law: Law) -> None:
    def demand(case: Case) -> bool | None:
        (policy,) = case.policies
        return False if hits(policy, DENY, case) and not hits(policy, DENY_EXCEPTIONS, case) else None

    law.holds(policies(most=1), demand)


def test_an_allow_item_without_its_exception_allows_what_is_not_denied(law: Law) -> None:
    def demand(case: Case) -> bool | None:
        (policy,) = case.policies
        denied = hits(policy, DENY, case) and not hits(policy, DENY_EXCEPTIONS, case)
        allowed = hits(policy, ALLOW, case) and not hits(policy, ALLOW_EXCEPTIONS, case)
        return True if allowed and not denied else None

    law.holds(policies(most=1), demand)


def test_an_exception_allows_nothing_by_itself(law: Law) -> None:
    law.holds(policies(DENY, ALLOW_EXCEPTIONS, DENY_EXCEPTIONS), lambda _: False)


def test_deny_all_else_denies_all_that_the_policy_does_not_allow(law: Law) -> None:
    def demand(case: Case) -> bool | None:
        (policy,) = case.policies
        return hits(policy, ALLOW, case) and not hits(policy, ALLOW_EXCEPTIONS, case)

    law.holds(policies(ALLOW, ALLOW_EXCEPTIONS, deny_all_else=[True], most=1), demand)
