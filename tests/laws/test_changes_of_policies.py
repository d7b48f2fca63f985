"""What a change of policies can do to a decision, and what it cannot (ranger-semantics.md §6.3, §6.7)."""

from tests.laws.cases import ALLOW, ALLOW_EXCEPTIONS, DENY, DENY_EXCEPTIONS, Json, policies
from tests.laws.law import Law

anything = policies(priorities=(-1, 0, 1))


def test_a_policy_that_only_denies_allows_nothing_new(law: Law) -> None:
    denying = policies(DENY, DENY_EXCEPTIONS, priorities=(-1, 0, 1))
    assert law.keeps(anything, lambda now, more: [*now, *more], denying).newly_allowed == []


def test_a_policy_that_only_allows_denies_nothing_new(law: Law) -> None:
    allowing = policies(ALLOW, ALLOW_EXCEPTIONS, priorities=(-1, 0, 1), deny_all_else=[False])
    assert law.keeps(anything, lambda now, more: [*now, *more], allowing).newly_denied == []


def test_a_disabled_policy_changes_nothing(law: Law) -> None:
    def change(now: list[Json], more: list[Json]) -> list[Json]:
        return [*now, *({**policy, "isEnabled": False} for policy in more)]

    changes = law.keeps(anything, change, anything)
    assert (changes.newly_allowed, changes.newly_denied) == ([], [])


def test_the_order_in_which_policies_are_written_changes_nothing(law: Law) -> None:
    changes = law.keeps(anything, lambda now, _: now[::-1], anything)
    assert (changes.newly_allowed, changes.newly_denied) == ([], [])


def test_a_policy_twice_is_a_policy_once(law: Law) -> None:
    changes = law.keeps(anything, lambda now, _: [*now, *now], anything)
    assert (changes.newly_allowed, changes.newly_denied) == ([], [])
