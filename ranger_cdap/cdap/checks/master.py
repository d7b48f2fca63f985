"""What CDAP's master user may create in user namespaces: a state machine of previews. Pure: the time comes in.

With CDAP's default settings an uploaded jar finishes as the master user, so what the master may create, everybody may
deploy who sees the namespace. Law: unless `master.create` is `allow`, the master creates nothing in a user namespace
but, by `preview`, the application of a preview that this service allowed to somebody else, once, within the hour.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from ranger_cdap.cdap.checks.check_table import calling_methods
from ranger_cdap.cdap.checks.checks import CdapCheck
from ranger_cdap.cdap.entity import EntityId, ResourceMapping, resolve_entity

CREATE = "STANDARD.CREATE"
PREVIEW = "APPLICATION.PREVIEW"

STARTS_A_PREVIEW = "DefaultPreviewRunner.startPreview"
SYSTEM = "system"

REMEMBERED_FOR = 3_600_000
"""How long an allowed preview is remembered, in milliseconds."""

MOST_PREVIEWS = 10_000
"""How many are remembered; while so many are, further ones are not, and the applications of those are denied."""


class MasterCreate(StrEnum):
    """The setting `master.create`."""

    DENY = "deny"
    PREVIEW = "preview"
    ALLOW = "allow"


@dataclass(frozen=True, slots=True)
class Preview:
    """A preview somebody was allowed: by whom, when last, and whether its application was created."""

    user: str
    time: int
    used: bool = False


@dataclass(frozen=True, slots=True)
class Previews:
    """The previews of the last hour by their application, not more than `MOST_PREVIEWS`."""

    by_application: Mapping[EntityId, Preview] = field(default_factory=dict)

    def remember(self, check: CdapCheck, user: str, master: str, now: int) -> Previews:
        """These and, if it is one, the PREVIEW check that this service has just allowed to a user, not to the master.

        An application that was created stays used: asking again for its preview does not allow it a second time.

        Raises:
            InvalidEntity: the parts do not fit the entity type.
        """
        placed = resolve_entity(check.entity_type, check.id_parts)
        application = placed.entity
        if (
            PREVIEW not in check.permissions
            or user == master
            or check.child_type is not None
            or placed.standing is not ResourceMapping.ITSELF
            or application.type != "application"
        ):
            return self
        recent = self._recent(now)
        known = recent.get(application)
        if known is None and len(recent) >= MOST_PREVIEWS:
            return Previews(recent)
        return Previews({**recent, application: Preview(user, now, used=known is not None and known.used)})

    def use(self, application: EntityId, now: int) -> Previews | None:
        """These with that application used; `None` if nobody was allowed to preview it, or it was used before."""
        recent = self._recent(now)
        known = recent.get(application)
        if known is None or known.used:
            return None
        return Previews({**recent, application: replace(known, used=True)})

    def _recent(self, now: int) -> dict[EntityId, Preview]:
        return {
            application: preview
            for application, preview in self.by_application.items()
            if 0 <= now - preview.time < REMEMBERED_FOR
        }


@dataclass(frozen=True, slots=True)
class MasterDecision:
    """Whether the master may create (`None`: the policies decide, as for everybody), and the previews afterwards."""

    allowed: bool | None
    reason: str
    previews: Previews


def decide_create(mode: MasterCreate, check: CdapCheck, previews: Previews, now: int) -> MasterDecision:
    """What the setting says of a check of the master user.

    Whatever does not create in a user namespace is left to the policies, the namespace itself too, unless a preview
    asks for it. What the setting denies no policy allows.

    Raises:
        InvalidEntity: the parts do not fit the entity type.
    """
    entity = resolve_entity(check.entity_type, check.id_parts).entity
    if CREATE not in check.permissions or entity.namespace in (None, SYSTEM):
        return MasterDecision(None, "", previews)
    made = (check.child_type or check.entity_type).upper()
    named = check.child_type is None
    if set(check.permissions) != {CREATE}:
        return _denied("it asks for more than that at once", previews)
    if mode is MasterCreate.ALLOW:
        return MasterDecision(True, "`master.create` is `allow`", previews)
    if made == "NAMESPACE" and named:
        starts = mode is MasterCreate.PREVIEW and STARTS_A_PREVIEW in calling_methods(check.hint)
        return MasterDecision(True, "a preview starts", previews) if starts else MasterDecision(None, "", previews)
    if mode is MasterCreate.DENY:
        return _denied("`master.create` is `deny`", previews)
    if made != "APPLICATION" or not named:
        return _denied(f"a preview makes no `{made}`", previews)
    used = previews.use(entity, now)
    if used is None:
        return _denied("nobody was allowed to preview it in the last hour, or it was made already", previews)
    return MasterDecision(True, "a preview that somebody else was allowed", used)


def _denied(reason: str, previews: Previews) -> MasterDecision:
    return MasterDecision(False, f"the CDAP master user creates nothing in a user namespace: {reason}", previews)
