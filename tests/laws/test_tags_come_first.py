"""Policies on tags decide before policies on resources, which can overrule them (ranger-semantics.md §14.4)."""

import pytest

from tests.laws.cases import ALLOW, DENY, Case, Policies, effects, policies
from tests.laws.law import Law

on_resources = policies(deny_all_else=[False])


def outcome(among: Policies, case: Case) -> bool | None:
    """Return what policies of one priority say."""
    said = [effect for _, effect in effects(among, case)]
    return all(said) if said else None


def test_a_denial_by_tag_beats_resource_policies_of_equal_priority(law_of_tags: Law) -> None:
    def demand(case: Case) -> bool | None:
        return False if outcome(case.tag_policies, case) is False else None

    law_of_tags.holds(on_resources, demand, on_tags=policies())


def test_a_denial_by_resource_beats_an_allow_by_tag_of_equal_priority(law_of_tags: Law) -> None:
    def demand(case: Case) -> bool | None:
        return False if outcome(case.policies, case) is False else None

    law_of_tags.holds(on_resources, demand, on_tags=policies())


def test_an_allow_by_tag_suffices_where_no_resource_policy_denies(law_of_tags: Law) -> None:
    def demand(case: Case) -> bool | None:
        by_tag, by_resource = outcome(case.tag_policies, case), outcome(case.policies, case)
        return True if by_tag and by_resource is not False else None

    law_of_tags.holds(on_resources, demand, on_tags=policies())


def test_where_tags_are_silent_resource_policies_decide_alone(law_of_tags: Law) -> None:
    def demand(case: Case) -> bool | None:
        return bool(outcome(case.policies, case)) if outcome(case.tag_policies, case) is None else None

    law_of_tags.holds(on_resources, demand, on_tags=policies())


@pytest.mark.parametrize("side", [ALLOW, DENY])
def test_of_two_priorities_the_higher_decides_between_tag_and_resource(law_of_tags: Law, side: str) -> None:
    """A resource policy that could both allow and deny is another matter (§6.3)."""

    def demand(case: Case) -> bool | None:
        by_tag, by_resource = effects(case.tag_policies, case), effects(case.policies, case)
        if not by_tag or not by_resource or by_tag[0][0] == by_resource[0][0]:
            return None
        return max(by_tag[0], by_resource[0])[1]

    resources = policies(side, most=1, priorities=(-1, 0, 1), deny_all_else=[False])
    law_of_tags.holds(resources, demand, on_tags=policies(most=1, priorities=(-1, 0, 1), deny_all_else=[False]))
