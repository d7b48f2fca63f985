"""Context of decisions: one set of policies and one time for a whole request (architecture.md, "A decision")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from ranger_cdap.authz.groups import GroupResolver, Membership
from ranger_cdap.cdap.answer import Ask
from ranger_cdap.cdap.descendants import descendants
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cdap.profile import ACTIONS, ANY, VISIBLE
from ranger_cdap.engine import ANY_ACCESS, AccessRequest, Decision, MatchingScope, NamedValues, PolicyEngine

_REQUESTED: Final = {
    **{action: (action.lower(), MatchingScope.SELF) for action in ACTIONS},
    ANY: (ANY_ACCESS, MatchingScope.SELF),
    VISIBLE: (ANY_ACCESS, MatchingScope.SELF_OR_DESCENDANTS),
}
"""Access type and scope that an action is requested as."""


class DecisionContext(msgspec.Struct, frozen=True, gc=False):
    """Policies, groups and time of a decision; `now` in epoch milliseconds, `client_ip` of the user."""

    engine: PolicyEngine
    groups: GroupResolver
    instance: str
    now: int
    client_ip: str | None = None

    def names(self, person: str, pattern: EntityPattern) -> Mapping[str, NamedValues] | None:
        """Return the values that policies, tags and zones name for a user on the open levels of a pattern."""
        user = self.groups.membership(person).user
        request = AccessRequest(resource=to_resource(pattern.example, self.instance), access_type="", user=user)
        return self.engine.named_values(request, pattern.open_levels)

    def below(self, person: str, entity: EntityId) -> Iterator[EntityId]:
        """Yield entities below one of which the user may see one, if they may see any that policies know of."""
        member = self.groups.membership(person)
        request = AccessRequest(to_resource(entity, self.instance), "", member.user, member.groups)
        return descendants(entity, self.engine.resources_below(request))

    def asking(self, person: str) -> Ask:
        """Return `ask` of one user for many entities: each entity is worked out once for all its actions in a row."""
        membership = self.groups.membership(person)
        last: EntityId | None = None
        resource: dict[str, str] = {}

        def ask(_: str, entity: EntityId, action: str) -> Decision:
            nonlocal last, resource
            if entity is not last:
                last, resource = entity, to_resource(entity, self.instance)
            return self._decision(membership, resource, action)

        return ask

    def ask(self, person: str, entity: EntityId, action: str) -> Decision:
        """Return Ranger's decision for a user, an entity and an action: READ, WRITE, ADMIN, EXECUTE, ANY or VISIBLE."""
        return self._decision(self.groups.membership(person), to_resource(entity, self.instance), action)

    def _decision(self, membership: Membership, resource: dict[str, str], action: str) -> Decision:
        access_type, matching_scope = _REQUESTED[action]
        return self.engine.evaluate(
            AccessRequest(
                resource,
                access_type,
                membership.user,
                membership.groups,
                access_time=self.now,
                matching_scope=matching_scope,
                client_ip=self.client_ip,
                groups_known=membership.known,
                refused=membership.refused,
            )
        )
