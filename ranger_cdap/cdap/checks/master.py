"""Creation in user namespaces by CDAP's master user: a state machine of previews. Pure: the time is an argument.

With CDAP's default settings the upload of a jar completes as the master user, so anyone who sees a namespace can deploy
what the master may create. Law: unless `master.create` is `allow`, the master creates in a user namespace only datasets
that the policies allow (document 004: it runs the programs that impersonate no user, and no upload gets as far as that)
and, with `preview`, the application of a preview that this service allowed to another user, once, within the hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ranger_cdap.cdap.checks.check_table import calling_methods
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.entity import EntityId, ResolvedEntity, ResourceMapping

CREATE = "STANDARD.CREATE"
PREVIEW = "APPLICATION.PREVIEW"

STARTS_A_PREVIEW = "DefaultPreviewRunner.startPreview"
SYSTEM = "system"

REMEMBERED_FOR = 3_600_000
"""Time for which an allowed preview is remembered, in milliseconds."""

MOST_PREVIEWS = 10_000
"""Number of previews remembered; beyond it, further ones are not, and their applications are denied."""


class MasterCreate(StrEnum):
    """The setting `master.create`."""

    DENY = "deny"
    PREVIEW = "preview"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True)
class Preview:
    """Allowed preview: its user, the time of the last check, and whether its application was created."""

    user: str
    time: int
    used: bool


@dataclass(frozen=True, slots=True)
class Previews:
    """Previews of the last hour by application, at most `MOST_PREVIEWS`."""

    by_application: Mapping[EntityId, Preview] = field(default_factory=dict)

    def remember(self, check: CdapCheck, target: ResolvedEntity, user: str, master: str, now: int) -> Previews:
        """Return the previews with `check` added, if it is a preview just allowed to a user other than the master.

        An application that was created stays used: another preview of it does not allow a second creation. `target` is
        the resolved entity of the check.
        """
        application = target.entity
        if (
            PREVIEW not in check.permissions
            or user == master
            or check.child_type is not None
            or target.mapping is not ResourceMapping.ITSELF
            or application.type != "application"
        ):
            return self
        recent = self._recent(now)
        known = recent.get(application)
        if known is None and len(recent) >= MOST_PREVIEWS:
            return Previews(recent)
        return Previews({**recent, application: Preview(user, now, used=known is not None and known.used)})

    def use(self, application: EntityId, now: int) -> Previews | None:
        """Return the previews with that application used; `None` if none was allowed or it was used before."""
        recent = self._recent(now)
        known = recent.get(application)
        return None if known is None or known.used else Previews({**recent, application: replace(known, used=True)})

    def _recent(self, now: int) -> dict[EntityId, Preview]:
        return {
            application: preview
            for application, preview in self.by_application.items()
            if 0 <= now - preview.time < REMEMBERED_FOR
        }


@dataclass(frozen=True, slots=True)
class MasterDecision:
    """Decision on a creation by the master (`None`: the policies decide), and the previews afterwards."""

    allowed: bool | None
    reason: str
    previews: Previews


def decide_create(
    mode: MasterCreate, check: CdapCheck, entity: EntityId, previews: Previews, now: int
) -> MasterDecision:
    """Return the decision of the setting `master.create` on a check of the master user.

    Checks that create nothing in a user namespace are left to the policies, as is creating a dataset and the namespace
    itself, unless a preview does so. No policy can allow what the setting denies. `entity` is the resolved one.
    """
    if CREATE not in check.permissions or entity.namespace in (None, SYSTEM):
        return MasterDecision(None, "", previews)
    made = (check.child_type or check.entity_type).upper()
    named = check.child_type is None
    if set(check.permissions) != {CREATE}:
        return _denied("it also asks for other permissions", previews)
    if mode is MasterCreate.ALLOW:
        return MasterDecision(True, "`master.create` is `allow`", previews)
    if made == "NAMESPACE" and named:
        starts = mode is MasterCreate.PREVIEW and STARTS_A_PREVIEW in calling_methods(check.hint)
        return MasterDecision(True, "a preview starts", previews) if starts else MasterDecision(None, "", previews)
    if made == "DATASET" and named:
        return MasterDecision(None, "", previews)
    if mode is MasterCreate.DENY:
        return _denied("`master.create` is `deny`", previews)
    if made != "APPLICATION" or not named:
        return _denied(f"a preview creates no `{made}`", previews)
    used = previews.use(entity, now)
    if used is None:
        return _denied("no user was allowed to preview it in the last hour, or it was already created", previews)
    return MasterDecision(True, "a preview that another user was allowed", used)


def _denied(reason: str, previews: Previews) -> MasterDecision:
    return MasterDecision(False, f"the CDAP master user creates only datasets in a user namespace: {reason}", previews)
