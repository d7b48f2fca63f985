"""Where policies stand in Ranger Admin: in the service itself, or in the tag service that is linked to it."""

from __future__ import annotations

from collections.abc import Iterable

from ranger_cdap.engine.compiled.policy import decode_raw
from ranger_cdap.engine.engine import PolicyEngine
from ranger_cdap.engine.model.problem import name_and_id


def service_ids(engine: PolicyEngine, policy_ids: Iterable[int]) -> dict[int, int]:
    """For each policy of an engine Ranger Admin's id of the service it stands in; without those it did not tell."""
    policies = engine._parts.policies
    found = {} if policies.serviceId is None else dict.fromkeys(policy_ids, policies.serviceId)
    linked = policies.tagPolicies
    if linked is None or linked.serviceId is None:
        return found
    of_tags = (name_and_id(decode_raw(raw))[1] for raw in linked.policies)
    return found | dict.fromkeys((id_ for id_ in of_tags if id_ in found), linked.serviceId)
