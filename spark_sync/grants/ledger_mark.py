"""The mark of a ledger on the policies that it writes, by which two ledgers on one Ranger service notice each other.

Law: a run sends nothing once it has read a policy of its instance with the mark of another ledger, unless a person has
adopted that one. A mark is a label, which no content of a policy includes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from ranger_cdap.cdap.grant import CREATORS_LABEL, LEDGER_LABEL
from ranger_cdap.errors import LedgerLost
from ranger_cdap.ranger_model.document import replaced
from ranger_cdap.ranger_model.policy import Policy
from spark_sync.grants.grant_policy import may_be_ours
from spark_sync.grants.policy_rest import PolicyRest

if TYPE_CHECKING:
    from spark_sync.ledger.delta_ledger import DeltaLedger

_ADOPTED: Final = "adopted"


def marked_rest(rest: PolicyRest, ledger: DeltaLedger) -> PolicyRest:
    """Return a client that marks the policies of creators it writes, and lists none beside another ledger's.

    Raises:
        LedgerLost: by its `list_policies`, if one is of another ledger.
    """
    return cast("PolicyRest", _MarkedRest(rest, ledger, own_mark(ledger)))


def own_mark(ledger: DeltaLedger) -> str:
    """Return the mark of a ledger; a copy of it has the same."""
    return f"{LEDGER_LABEL}{ledger.marks()['ledger'].id[:8]}"


def adopt_marks(ledger: DeltaLedger, policies: Iterable[Policy]) -> None:
    """Note that the ledgers that wrote these policies are gone, and that this one has taken over.

    Raises:
        SyncError: the ledger cannot be written.
    """
    found = {mark_of(policy, ledger.instance) for policy in policies}
    known = set(ledger.notes.read(_ADOPTED, list[str]) or ())
    if new := found - {"", own_mark(ledger)} - known:
        ledger.notes.write(_ADOPTED, sorted(known | new))


def mark_of(policy: Policy, instance: str) -> str:
    """Return the mark on a creator's policy of an instance; empty without one."""
    on = policy.resources.get("instance")
    if CREATORS_LABEL not in policy.policy_labels or on is None or on.values != [instance] or not may_be_ours(policy):
        return ""
    return next((label for label in policy.policy_labels if label.startswith(LEDGER_LABEL)), "")


@dataclass(frozen=True, slots=True)
class _MarkedRest:
    rest: PolicyRest
    ledger: DeltaLedger
    own: str

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rest, name)

    def list_policies(self, service: str, zone: str = "") -> list[Policy]:
        policies = self.rest.list_policies(service, zone)
        ours = {"", self.own, *(self.ledger.notes.read(_ADOPTED, list[str]) or ())}
        for policy in policies:
            if (mark := mark_of(policy, self.ledger.instance)) not in ours:
                raise LedgerLost(
                    f"policy {policy.id} (`{policy.name}`) in Ranger has the label `{mark}` of another ledger, and this"
                    f" one's is `{self.own}`: stop the other sync job of instance `{self.ledger.instance}`; if"
                    " that ledger is gone, take a new inventory, enter it with `ranger-cdap sync baseline`, then run"
                    " `ranger-cdap sync reconcile --adopt`"
                )
        return policies

    def create_policy(self, policy: Policy) -> Policy:
        return self.rest.create_policy(self._marked(policy))

    def update_policy(self, policy: Policy) -> Policy:
        return self.rest.update_policy(self._marked(policy))

    def _marked(self, policy: Policy) -> Policy:
        if CREATORS_LABEL not in policy.policy_labels or not may_be_ours(policy):
            return policy
        labels = [label for label in policy.policy_labels if not label.startswith(LEDGER_LABEL)]
        return replaced(policy, policy_labels=[*labels, self.own])
