"""`AccessReplay`: decides recorded accesses again, with everything enforced and nothing audited."""

from __future__ import annotations

from ranger_cdap.authz.authorizer import Authorizer
from ranger_cdap.authz.enforcer import answer_of_setting
from ranger_cdap.cdap.answer import Answer
from ranger_cdap.cdap.checks.checks import CheckTable
from ranger_cdap.cdap.checks.master import MasterCreate, Previews, decide_create
from ranger_cdap.cdap.checks.predecessor_access import PossibleOperation, PredecessorAccess, possible_operations


class AccessReplay:
    """Decider of recorded accesses by the given policies, today's groups, and the setting `master.create`."""

    def __init__(self, authorizer: Authorizer, mode: MasterCreate) -> None:
        self._decider = authorizer.decider.enforcing_everything()
        self._table = CheckTable(self._decider.config.profile)
        self._mode = mode

    def answers_to_access(self, user: str, access: PredecessorAccess) -> tuple[tuple[Answer, bool], ...]:
        """Return the answer to each operation that an access of the predecessor may have been, and if it denied it."""
        possible = possible_operations(self._table, access)
        rows = [(one.operation.operation, one.operation.entity) for one in possible]
        answers = self._decider.evaluate_rows(user, (), rows)
        return tuple(
            (self._by_setting(user, one) or answer, one.denied) for one, answer in zip(possible, answers, strict=True)
        )

    def _by_setting(self, user: str, possible: PossibleOperation) -> Answer | None:
        """Return the answer of `master.create`: that a preview was allowed before is known of no access."""
        if possible.check is None or user != self._decider.config.master:
            return None
        entity = possible.operation.entity
        decision = decide_create(self._mode, possible.check, entity, Previews(), 0)
        return answer_of_setting(user, possible.check, entity, decision)
