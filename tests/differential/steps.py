"""A scenario step by step: a download, then documents with changes, one after the other.

Documents in a list are written shortly: what all documents of a service have in common stands in the download.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Json = Mapping[str, Any]

DELETE = 2


def steps(scenario: Json) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each document with changes, and the full set that it leads to."""
    now = dict(scenario["policies"])
    given = scenario.get("deltas") or ()
    for document in given if isinstance(given, list) else [given] if given else ():
        now = changed_set(now, document)
        yield (completed(document, now) if isinstance(given, list) else document), now


def completed(document: Json, download: Json) -> dict[str, Any]:
    """The document with the service's name and definition, and those of its tag service."""
    common = {name: download[name] for name in ("serviceName", "serviceDef", "serviceConfig") if name in download}
    if "tagPolicies" not in document or "tagPolicies" not in download:
        return {**common, **document}
    return {**common, **document, "tagPolicies": {**download["tagPolicies"], "policies": [], **document["tagPolicies"]}}


def changed_set(download: Json, document: Json) -> dict[str, Any]:
    """The full set after the changes: what Ranger Admin would send to one who downloads all of it."""
    after = {**download, "policyVersion": document.get("policyVersion")}
    deltas = document.get("policyDeltas", [])
    of_tags = [delta for delta in deltas if delta["policy"].get("serviceType") == "tag"]
    after["policies"] = _changed(after.get("policies", []), [delta for delta in deltas if delta not in of_tags])
    if "tagPolicies" in after:
        linked = after["tagPolicies"]
        after["tagPolicies"] = {**linked, "policies": _changed(linked.get("policies", []), of_tags)}
    before = after.pop("securityZones", {})
    if zones := document.get("securityZones"):
        after["securityZones"] = {
            name: {
                **{key: value for key, value in zone.items() if key != "policyDeltas"},
                "policies": _changed(before.get(name, {}).get("policies", []), zone.get("policyDeltas") or []),
            }
            for name, zone in zones.items()
        }
    return after


def _changed(policies: list[Any], deltas: list[Any]) -> list[Any]:
    by_id = {policy["id"]: policy for policy in policies}
    for delta in deltas:
        by_id.pop(delta["policy"]["id"], None)
        if delta["changeType"] != DELETE:
            by_id[delta["policy"]["id"]] = delta["policy"]
    return list(by_id.values())
