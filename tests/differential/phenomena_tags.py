"""Tag policies, with tags from the tag download or given in the request [§14]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.differential.phenomena_conditions import TAG_TYPES, epoch_ms, moments, schedules
from tests.differential.phenomena_zones import zone_resources, zone_scenarios
from tests.differential.reference_order import has_deny
from tests.differential.strategies import core_policies, core_scenarios, everywhere, numbered, rarely

Json = dict[str, Any]

ENRICHER = "org.apache.ranger.plugin.contextenricher.RangerTagEnricher"


def tag_definition(component: Json, *, with_enricher: bool) -> Json:
    """The tag service-def: its access types are those of all components, each with the component's name."""
    prefix = component["name"] + ":"
    access_types = [
        {
            **access,
            "name": prefix + access["name"],
            "impliedGrants": [prefix + each for each in access["impliedGrants"]],
        }
        for access in ({"impliedGrants": [], **access} for access in component["accessTypes"])
    ]
    level = {"itemId": 1, "name": "tag", "level": 1, "parent": "", "isValidLeaf": True}
    return {
        "id": 100,
        "name": "tag",
        "resources": [{**level, "matcherOptions": {"wildCard": "true", "ignoreCase": "false"}}],
        "accessTypes": [*access_types, {"itemId": 99, "name": "other:read", "impliedGrants": []}],
        "contextEnrichers": [{"itemId": 1, "name": "tags", "enricher": ENRICHER}] if with_enricher else [],
        "policyConditions": component["policyConditions"],
    }


def for_component(policy: Json, component: str) -> Json:
    """The access types of a tag policy carry the name of the component, here and there that of another or none."""
    for side in ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions"):
        for item in policy.get(side, ()):
            for access in item["accesses"]:
                prefix = "other:" if access["type"] == "bogus" else f"{component}:"
                access["type"] = prefix + access["type"]
    return policy


tag_values = st.lists(st.sampled_from(TAG_TYPES), min_size=1, max_size=2)
tag_levels = st.fixed_dictionaries({"values": tag_values}, optional={"isExcludes": rarely})


@st.composite
def tag_policies(draw: st.DrawFn, component: Json) -> Json:
    policy = draw(core_policies(component))
    policy.pop("additionalResources", None)
    policy["resources"] = {"tag": draw(tag_levels)}
    if draw(rarely):
        policy["zoneName"] = "z"
    return for_component(policy, component["name"])


tag_validity = st.lists(schedules, max_size=1)


@st.composite
def service_tags(draw: st.DrawFn, definition: Json) -> Json:
    """Which resources carry which tags."""
    kinds = st.fixed_dictionaries({"type": st.sampled_from(TAG_TYPES[:3])}, optional={"validityPeriods": tag_validity})
    tags = {str(n): {"id": n, **tag} for n, tag in enumerate(draw(st.lists(kinds, min_size=1, max_size=3)), 1)}
    tagged: list[Json] = []
    for n in range(1, draw(st.integers(1, 4)) + 1):
        elements = draw(zone_resources(definition))
        tagged.append({"id": n, "resourceElements": {name: {"values": values} for name, values in elements.items()}})
    ids = st.lists(st.sampled_from(sorted(tags)).map(int), min_size=1, max_size=2, unique=True)
    carried = {str(resource["id"]): draw(ids) for resource in tagged}
    return {
        "op": "add_or_update",
        "serviceName": "s",
        "tagVersion": 1,
        "tags": tags,
        "serviceResources": tagged,
        "resourceToTagIds": carried,
    }


def resource_policies(download: Json) -> list[Json]:
    zones = download.get("securityZones", {}).values()
    return [policy for held in [download, *zones] for policy in held["policies"]]


def of_one_priority(download: Json, priority: int) -> None:
    """Let all resource policies weigh the same.

    After a tag's allow Java takes the decision for made as soon as a resource policy without denies has been a
    candidate, whether or not it matches; a deny of a lower priority is then lost. This project denies.
    """
    for policy in resource_policies(download):
        policy["policyPriority"] = priority


def denies_no_heavier(download: Json, tag_policies: list[Json]) -> None:
    """Let no resource policy with a deny side weigh more than a tag policy.

    Its allow comes before a tag's denial, for Java only if another policy of a lower priority was a candidate, whether
    or not it matches. This project denies where none matches.
    """
    lightest = min((policy.get("policyPriority", 0) for policy in tag_policies), default=0)
    for policy in resource_policies(download):
        if has_deny(policy):
            policy["policyPriority"] = min(lightest, policy.get("policyPriority", 0))


@st.composite
def tag_scenarios(draw: st.DrawFn, scenarios: Callable[[], st.SearchStrategy[Json]] = core_scenarios) -> Json:
    """Tag policies, with tags from the tag download or given in the request."""
    scenario = draw(scenarios())
    definition = scenario["policies"]["serviceDef"]
    downloaded = draw(st.booleans())
    policies = numbered(draw(st.lists(tag_policies(definition), max_size=5)), first=1000, names="tag policy")
    if draw(st.booleans()):
        for policy in policies:
            policy["policyItems"] = []
        denies_no_heavier(scenario["policies"], policies)
    else:
        of_one_priority(scenario["policies"], draw(st.sampled_from([0, 1, -1])))
    scenario["policies"]["tagPolicies"] = {
        "serviceName": "tags",
        "policyVersion": 1,
        "serviceDef": tag_definition(definition, with_enricher=downloaded),
        "policies": policies,
    }
    times = draw(st.lists(moments, min_size=7, max_size=7))
    everywhere(scenario, [{"accessTime": epoch_ms(moment)} for moment in times])
    if downloaded:
        scenario["tags"] = draw(service_tags(definition))
    else:
        kinds = st.fixed_dictionaries(
            {"type": st.sampled_from(TAG_TYPES[:3])},
            optional={"matchType": st.sampled_from(["SELF", "ANCESTOR", "DESCENDANT", "SELF_AND_ALL_DESCENDANTS"])},
        )
        several = st.lists(kinds, max_size=2, unique_by=lambda tag: tag["type"])
        everywhere(scenario, [{"tags": tags} for tags in draw(st.lists(several, min_size=7, max_size=7))])
    return scenario


def tag_and_zone_scenarios() -> st.SearchStrategy[Json]:
    return tag_scenarios(zone_scenarios)
