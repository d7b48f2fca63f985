"""What no allow item names is not allowed (ranger-semantics.md §6.4)."""

from tests.laws.cases import ALLOW, Case, hits, policies
from tests.laws.law import Law


def test_without_an_allow_item_access_is_denied(law: Law) -> None:
    def demand(case: Case) -> bool | None:
        return None if any(hits(policy, ALLOW, case) for policy in case.policies) else False

    law.holds(policies(), demand)
