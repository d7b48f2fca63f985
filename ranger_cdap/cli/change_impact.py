"""The access that changes of Ranger's policies would bring or take, known before they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from ranger_cdap.analysis.impact import impact
from ranger_cdap.analysis.report import impact_rows
from ranger_cdap.cli.files import Report
from ranger_cdap.cli.impact_sources import with_policies
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.cli.ranger_documents import ranger_documents
from ranger_cdap.config import Settings
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import InvalidInput, NotReady, PolicySetError, RangerAdminError
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.manage.saved_policy import SavedPolicies
from ranger_cdap.policies.manage.transfer import Step, TransferAction, body
from ranger_cdap.policies.refresh.fixed import documents
from ranger_cdap.questions.impact_question import compared_engine
from ranger_cdap.questions.impact_text import headline

CHANGING: Final = (TransferAction.CREATE, TransferAction.UPDATE, TransferAction.DELETE)
"""Steps for a policy after which it is another one."""


@dataclass(frozen=True, slots=True)
class ChangeImpact:
    """Access that changes bring or take, as sentences, and the engine of the policies after them."""

    changes: tuple[str, ...]
    after: PolicyEngine


def change_impact(invocation: Invocation, admin: RangerAdmin, changes: Sequence[Step]) -> ChangeImpact | None:
    """Return what these changes would do; None, with a note, if the policies in effect cannot be loaded."""
    try:
        before, after = _engines(admin, invocation.settings, changes, invocation.messages.print)
        found = impact(before, after)
    except (RangerAdminError, NotReady, PolicySetError, InvalidInput) as e:
        invocation.messages.print(f"note: the impact is not known: {e}")
        return None
    return ChangeImpact(tuple(map(headline, impact_rows(found))), after)


def print_impact(invocation: Invocation, found: ChangeImpact | None) -> None:
    """Print a line for each change of access."""
    for text in found.changes if found is not None else ():
        invocation.console.print(f"impact: {text}")


def _engines(
    admin: RangerAdmin, settings: Settings, changes: Sequence[Step], report: Report
) -> tuple[PolicyEngine, PolicyEngine]:
    """Return the engines of Ranger's policies as they are, and after the steps were saved.

    Raises:
        NotReady: Ranger Admin has no policies of the service.
    """
    service = settings.ranger.service
    now = ranger_documents(admin, settings)
    assert isinstance(now.policies, bytes)
    free = 1 + max((one.get("id") or 0 for one in admin.policy_documents(service)), default=0)
    deleted = {(step.there or {}).get("id") for step in changes if step.change is TransferAction.DELETE}
    written = [step for step in changes if step.change is not TransferAction.DELETE]
    saved = SavedPolicies()
    sent = saved.of([body(step, service) for step in written], msgspec.json.decode(now.policies).get("serviceDef"))
    for change in saved.changes:
        report(f"note: {change}")
    bodies = [(step.name, {"id": n, **one}) for n, (step, one) in enumerate(zip(written, sent, strict=True), free)]
    changed = documents(with_policies(now.policies, bodies, without=deleted), now.roles, now.tags)
    return compared_engine(now, service), compared_engine(changed, service)
