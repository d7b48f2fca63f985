"""`_any` asks for some access type: allowed if one is allowed, denied only if all are (ranger-semantics.md §9.2)."""

from dataclasses import replace

from ranger_cdap.engine import ANY_ACCESS
from tests.laws.cases import ACCESS_TYPES, ALLOW, ALLOW_EXCEPTIONS, Case, effects, hits, policies
from tests.laws.law import Law


def test_any_is_allowed_where_a_policy_allows_one_type_and_none_denies(law_of_any_access: Law) -> None:
    def demand(case: Case) -> bool | None:
        each = [replace(case, access=access) for access in ACCESS_TYPES]
        return any(effect for one in each for _, effect in effects(one.policies, one))

    allowing = policies(ALLOW, ALLOW_EXCEPTIONS, deny_all_else=[False])
    law_of_any_access.holds(allowing, demand, accesses=[ANY_ACCESS])


def test_any_is_allowed_although_one_type_is_denied_if_another_is_not(law_of_any_access: Law) -> None:
    def demand(case: Case) -> bool | None:
        said = [[effect for _, effect in effects(case.policies, replace(case, access=each))] for each in ACCESS_TYPES]
        return True if any(any(each) for each in said) and any(all(each) for each in said) else None

    law_of_any_access.holds(policies(), demand, accesses=[ANY_ACCESS])


def test_any_is_denied_where_nothing_allows_any_type(law_of_any_access: Law) -> None:
    def demand(case: Case) -> bool | None:
        each = [replace(case, access=access) for access in ACCESS_TYPES]
        return None if any(hits(policy, ALLOW, one) for one in each for policy in one.policies) else False

    law_of_any_access.holds(policies(), demand, accesses=[ANY_ACCESS])
