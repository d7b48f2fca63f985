"""Of several access types one suffices; in groups each must be allowed (ranger-semantics.md §9.2)."""

from dataclasses import replace

from tests.laws.cases import ACCESS_TYPES, READ_AND_WRITE, READ_OR_WRITE, Case, effects, policies
from tests.laws.law import Law


def said(case: Case) -> list[list[bool]]:
    """Return the effects of the policies on each access type."""
    return [[effect for _, effect in effects(case.policies, replace(case, access=each))] for each in ACCESS_TYPES]


def test_one_access_type_that_is_allowed_suffices(law_of_several_access_types: Law) -> None:
    def demand(case: Case) -> bool | None:
        return True if any(each and all(each) for each in said(case)) else None

    law_of_several_access_types.holds(policies(), demand, accesses=[READ_OR_WRITE])


def test_access_is_denied_if_all_access_types_are(law_of_several_access_types: Law) -> None:
    def demand(case: Case) -> bool | None:
        return False if all(False in each for each in said(case)) else None

    law_of_several_access_types.holds(policies(), demand, accesses=[READ_OR_WRITE])


def test_in_groups_each_access_type_must_be_allowed_and_none_denied(law_of_several_access_types: Law) -> None:
    def demand(case: Case) -> bool | None:
        return all(each and all(each) for each in said(case))

    law_of_several_access_types.holds(policies(), demand, accesses=[READ_AND_WRITE])
