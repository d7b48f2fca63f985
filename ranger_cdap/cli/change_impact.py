"""The access that changes of Ranger's policies would bring or take, known before they are made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ranger_cdap.analysis.impact import impact
from ranger_cdap.analysis.report import impact_rows
from ranger_cdap.cli.impact_sources import with_policies
from ranger_cdap.cli.invocation import Invocation
from ranger_cdap.config import Settings
from ranger_cdap.engine import PolicyEngine
from ranger_cdap.errors import InvalidInput, NotReady, PolicySetError, RangerAdminError
from ranger_cdap.policies.client.ranger_admin import RangerAdmin
from ranger_cdap.policies.client.versions import NO_VERSION
from ranger_cdap.policies.manage.transfer import Step, TransferAction, body
from ranger_cdap.policies.refresh.cache import command_downloader
from ranger_cdap.policies.refresh.documents import needs_tags
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
        before, after = _engines(admin, invocation.settings, changes)
        found = impact(before, after)
    except (RangerAdminError, NotReady, PolicySetError, InvalidInput) as e:
        invocation.messages.print(f"note: the impact is not known: {e}")
        return None
    return ChangeImpact(tuple(map(headline, impact_rows(found))), after)


def print_impact(invocation: Invocation, found: ChangeImpact | None) -> None:
    """Print a line for each change of access."""
    for text in found.changes if found is not None else ():
        invocation.console.print(f"impact: {text}")


def _engines(admin: RangerAdmin, settings: Settings, changes: Sequence[Step]) -> tuple[PolicyEngine, PolicyEngine]:
    """Return the engines of Ranger's policies as they are, and after the steps.

    Raises:
        NotReady: Ranger Admin has no policies of the service.
    """
    service = settings.ranger.service
    by = command_downloader(settings)
    policies = admin.download_policies(service, last_known_version=NO_VERSION, by=by)
    if policies is None:
        raise NotReady(f"Ranger Admin has no policies of service `{service}`")
    roles = admin.download_roles(service, last_known_version=NO_VERSION, by=by)
    tags = admin.download_tags(service, last_known_version=NO_VERSION, by=by) if needs_tags(policies) else None
    free = 1 + max((one.get("id") or 0 for one in admin.policy_documents(service)), default=0)
    deleted = {(step.there or {}).get("id") for step in changes if step.change is TransferAction.DELETE}
    written = [step for step in changes if step.change is not TransferAction.DELETE]
    bodies = [(step.name, {"id": number, **body(step, service)}) for number, step in enumerate(written, free)]
    changed = with_policies(policies, bodies, without=deleted)
    before = compared_engine(documents(policies, roles, tags), service)
    return before, compared_engine(documents(changed, roles, tags), service)
