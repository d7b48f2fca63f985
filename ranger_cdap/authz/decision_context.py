"""Context of decisions: one set of policies and one time for a whole request (architecture.md, "A decision")."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ranger_cdap.authz.groups import GroupResolver
from ranger_cdap.cdap.entity import EntityId, to_resource
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cdap.profile import ANY, VISIBLE
from ranger_cdap.engine import ANY_ACCESS, AccessRequest, Decision, MatchingScope, NamedValues, PolicyEngine


class DecisionContext(msgspec.Struct, frozen=True):
    """Policies, groups and time of a decision; `now` in epoch milliseconds, `client_ip` of the user."""

    engine: PolicyEngine
    groups: GroupResolver
    instance: str
    now: int
    client_ip: str | None = None

    def names(self, person: str, pattern: EntityPattern) -> Mapping[str, NamedValues] | None:
        """Return the values that policies, tags and zones name for a user on the open levels of a pattern."""
        request = AccessRequest(resource=to_resource(pattern.example, self.instance), access_type="", user=person)
        return self.engine.named_values(request, pattern.open_levels)

    def ask(self, person: str, entity: EntityId, action: str) -> Decision:
        """Return Ranger's decision for a user, an entity and an action: READ, WRITE, ADMIN, EXECUTE, ANY or VISIBLE."""
        membership = self.groups.membership(person)
        return self.engine.evaluate(
            AccessRequest(
                resource=to_resource(entity, self.instance),
                access_type=ANY_ACCESS if action in (ANY, VISIBLE) else action.lower(),
                user=person,
                groups=membership.groups,
                groups_known=membership.known,
                access_time=self.now,
                client_ip=self.client_ip,
                matching_scope=MatchingScope.SELF_OR_DESCENDANTS if action == VISIBLE else MatchingScope.SELF,
            )
        )
