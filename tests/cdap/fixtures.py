"""A real engine with the policies a test writes down as `ann READ dataset:ns1.kv`; names may hold wildcards."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

import servicedef
from ranger_cdap.cdap.entity import EntityId, entity_id, entity_type, entity_types, to_resource
from ranger_cdap.cdap.pattern import EntityPattern
from ranger_cdap.cdap.profile import ANY, VISIBLE
from ranger_cdap.engine import ANY_ACCESS, AccessRequest, Decision, MatchingScope, NamedValues, PolicyEngine
from ranger_cdap.ranger_model.decode import decode_service_policies

NAMES = {"namespace": "ns1", "application": "Shop", "program": "workflow.Nightly", "principal": "svc/host@EXAMPLE.COM"}


def entity_of(kind: str) -> EntityId:
    """An entity of that type; it and those above it are named `one`, if their level is not among `NAMES`."""
    return entity_id(kind, [NAMES.get(level, "one") for level in entity_types()[kind].path[1:]])


@dataclass(frozen=True)
class Policies:
    """Asks the engine, as `compose` does."""

    engine: PolicyEngine

    def __call__(self, person: str, entity: EntityId, action: str) -> Decision:
        return self.engine.evaluate(
            AccessRequest(
                resource=to_resource(entity, "cdap"),
                access_type=ANY_ACCESS if action in (ANY, VISIBLE) else action.lower(),
                user=person,
                matching_scope=MatchingScope.SELF_OR_DESCENDANTS if action == VISIBLE else MatchingScope.SELF,
            )
        )

    def names(self, person: str, pattern: EntityPattern) -> Mapping[str, NamedValues] | None:
        request = AccessRequest(to_resource(pattern.example, "cdap"), "", user=person)
        return self.engine.named_values(request, pattern.open_levels)


def granted(*privileges: str, denied: Iterable[str] = ()) -> Policies:
    """Decisions by one policy for each entity named; `denied` makes deny items of the same form."""
    texts = [(text, "policyItems") for text in privileges] + [(text, "denyPolicyItems") for text in denied]
    policies: dict[str, dict[str, object]] = {}
    for text, items in texts:
        person, actions, entity = text.split()
        policy = policies.setdefault(entity, {"policyItems": [], "denyPolicyItems": []})
        accesses = [{"type": action.lower()} for action in actions.split("|")]
        policy[items].append({"users": [person], "accesses": accesses})  # type: ignore[attr-defined]
    document = {
        "serviceName": "cdapdev",
        "policyVersion": 1,
        "policies": [
            {"id": number, "version": 1, "name": entity, "resources": resources(entity), **items}
            for number, (entity, items) in enumerate(policies.items(), 1)
        ],
        "serviceDef": servicedef.service_definition(),
    }
    return Policies(PolicyEngine.build(decode_service_policies(msgspec.json.encode(document))))


def resources(entity: str) -> dict[str, dict[str, list[str]]]:
    """`dataset:ns1.a,b*` as the resources of a policy; commas part the values of the last level."""
    kind, _, rest = entity.partition(":")
    path = entity_type(kind).path
    parts = rest.split(".", len(path) - 2) if len(path) > 1 else []
    values = [["cdap"], *([part] for part in parts[:-1]), *([part.split(",") for part in parts[-1:]])]
    return {level: {"values": value} for level, value in zip(path, values, strict=True)}
