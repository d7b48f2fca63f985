"""Documents with changes, one after the other: policies, policies of tags and zones that come and go [§17].

Left out, because Java then forgets what it would do after a full load: levels without a value in a policy that comes by
a change or is replaced by one, deletions of policies without effect, and requests without a resource.
"""

from __future__ import annotations

from typing import Any

from tests.differential.fuzz.die import Die
from tests.differential.fuzz.mixed_policies import PolicyDrawer
from tests.differential.steps import DELETE, changed_set

Json = dict[str, Any]

CREATE, UPDATE = 0, 1


def delta_documents(die: Die, download: Json, drawer: PolicyDrawer, *, everything: bool) -> list[Json]:
    """One to three documents, each with the changes since the one before; `download` is what they begin from."""
    documents: list[Json] = []
    now = download
    for version in range(2, die.between(2, 4) + 1):
        document = _Document(die, now, drawer, version, everything=everything).drawn()
        now = changed_set(now, document)
        documents.append(document)
    return documents


class _Document:
    """One document with changes to what is there now."""

    def __init__(self, die: Die, now: Json, drawer: PolicyDrawer, version: int, *, everything: bool) -> None:
        self._die, self._now, self._drawer, self._version = die, now, drawer, version
        self._everything = everything
        self._changes = 0
        self._changed: set[int] = set()

    def drawn(self) -> Json:
        die, now = self._die, self._now
        component = now["serviceDef"]["name"]
        deltas = [self._change(now["policies"], component, 20 * self._version) for _ in range(die.between(1, 3))]
        document: Json = {"policyVersion": self._version, "policyDeltas": deltas}
        if linked := now.get("tagPolicies"):
            document["tagPolicies"] = {"policyVersion": self._version}
            if die.chance(40):
                deltas.append(self._change(linked["policies"], "tag", 1000 + 20 * self._version))
        zones = {name: self._zone(zone) for name, zone in now.get("securityZones", {}).items()}
        if die.chance(25):
            self._come_or_go(zones)
        if zones:
            document["securityZones"] = zones
        return document

    def _zone(self, zone: Json) -> Json:
        kept = {key: value for key, value in zone.items() if key != "policies"} | {"policyDeltas": []}
        if self._die.chance(50):
            fresh_id = 20 * self._version + (200 if zone["zoneName"] == "z" else 400)
            kept["policyDeltas"] = [self._change(zone["policies"], self._now["serviceDef"]["name"], fresh_id)]
        return kept

    def _come_or_go(self, zones: Json) -> None:
        """A zone that is not there any more, one that is new, or one that has moved."""
        die = self._die
        path = die.one(self._drawer.paths)
        place = {path[0]: [die.one(self._drawer.pools[path[0]])]}
        if not zones or (len(zones) == 1 and die.chance(30)):
            name = "y" if "z" in zones else "z"
            fresh = {**self._drawer.policy(), "resources": {path[0]: {"values": place[path[0]]}}}
            deltas = [self._routed(CREATE, {**fresh, "id": 600 + self._version}, self._now["serviceDef"]["name"])]
            zones[name] = {"zoneName": name, "resources": [place], "policyDeltas": deltas}
        elif die.chance(60):
            zones.pop(die.one(sorted(zones)))
        else:
            zones[die.one(sorted(zones))]["resources"] = [place]

    def _change(self, policies: list[Json], service_type: str, fresh_id: int) -> Json:
        die = self._die
        kind = die.one((CREATE, UPDATE, UPDATE, DELETE))
        known = [policy["id"] for policy in policies if self._everything or is_changeable(policy, kind)]
        if kind == DELETE:
            known = [id_ for id_ in known if id_ not in self._changed]
        self._changes += 1
        new_id = fresh_id + self._changes
        id_ = new_id if kind == CREATE or not known else die.one([*known, *known, new_id])
        self._changed.add(id_)
        drawn = self._drawer.tag_policy() if service_type == "tag" else self._drawer.policy()
        drawn.pop("policyType", None)
        if not self._everything:
            name_values(drawn)
        content = {} if kind == DELETE else {"name": f"changed {self._version} {self._changes}", **drawn}
        return self._routed(kind, {**content, "id": id_}, service_type)

    def _routed(self, kind: int, policy: Json, service_type: str) -> Json:
        """As Ranger Admin sends it; now and then without the type of its service, or as one of another kind."""
        drawn = {"serviceType": service_type, "policyType": 0, **policy, "version": self._version}
        if self._die.chance(4):
            drawn["serviceType"] = None
        elif self._die.chance(5):
            drawn["policyType"] = 1
        return {"id": self._changes, "changeType": kind, "policiesVersion": self._version, "policy": drawn}


def levels_of(policy: Json) -> list[Json]:
    alternatives = [policy.get("resources", {}), *policy.get("additionalResources", ())]
    return [level for levels in alternatives for level in levels.values()]


def is_changeable(policy: Json, kind: int) -> bool:
    """Return True if Java does not forget what it would do after a full load."""
    has_effect = policy.get("isEnabled", True) and policy.get("policyType", 0) == 0
    return not has_level_without_values(policy) and (kind != DELETE or has_effect)


def has_level_without_values(policy: Json) -> bool:
    return any(not level["values"] or "" in level["values"] for level in levels_of(policy))


def name_values(policy: Json) -> None:
    """Write `*` for a level without values."""
    for level in levels_of(policy):
        level["values"] = [value for value in level["values"] if value] or ["*"]
