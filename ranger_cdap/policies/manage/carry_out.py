"""The steps of a plan, made in Ranger Admin one by one; each only if its policy is still the one of the plan.

Law: after a stop, wherever it was, the next plan begins with the policies that are not yet as wanted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from ranger_cdap.errors import ConflictingChange, NotFound, RangerAdminError
from ranger_cdap.policies.manage.transfer import Json, Step, TransferAction, body
from ranger_cdap.ranger_model.policy import Policy


class PolicyDocuments(Protocol):
    """The part of Ranger Admin's client that is used here."""

    def policy_by_id(self, policy_id: int) -> Policy | None:
        """Return the policy with that id."""

    def create_policy_document(self, policy: Json) -> Json:
        """Create a policy."""

    def update_policy_document(self, policy_id: int, policy: Json) -> Json:
        """Replace a policy."""

    def delete_policy(self, policy_id: int) -> None:
        """Delete a policy."""


def carry_out(steps: Sequence[Step], admin: PolicyDocuments, service: str) -> Iterator[Step]:
    """Make the steps in order, and yield each one that is made.

    Raises:
        ConflictingChange: a policy was changed since the plan was made.
        RangerAdminError: Ranger Admin rejected a step, or did not answer. The message has the policy and how many
            steps were made before.
    """
    for made, step in enumerate(steps):
        try:
            make(step, admin, service)
        except RangerAdminError as e:
            e.args = (
                f"policy `{step.name}` ({step.change.value}): {e}; {made} of {len(steps)} changes were made before, "
                "and the same command goes on from there",
            )
            raise
        yield step


def make(step: Step, admin: PolicyDocuments, service: str) -> None:
    """Make one step.

    Raises:
        ConflictingChange: the policy was changed since the plan was made.
        RangerAdminError: Ranger Admin rejected the step, or did not answer.
    """
    if step.there is None:
        admin.create_policy_document(body(step, service))
        return
    policy_id, version = step.there["id"], step.there.get("version")
    now = admin.policy_by_id(policy_id)
    if now is None and step.change is TransferAction.DELETE:
        return
    if now is None or now.version != version:
        raise ConflictingChange(f"it was {'deleted' if now is None else 'changed'} in Ranger since the plan was made")
    if step.change is TransferAction.DELETE:
        _delete(admin, policy_id)
        return
    _require_next(version, admin.update_policy_document(policy_id, body(step, service)))


def _delete(admin: PolicyDocuments, policy_id: int) -> None:
    try:
        admin.delete_policy(policy_id)
    except NotFound:
        return  # somebody else deleted it


def _require_next(version: Any, after: Json) -> None:
    if isinstance(version, int) and after.get("version") != version + 1:
        raise ConflictingChange(
            f"it was modified concurrently: it is as wanted now, and its versions after {version} were overwritten"
        )
