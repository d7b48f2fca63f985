"""Pairs of small sets of policies, and every request of their universe: names so few that everything meets."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations, product
from random import Random
from typing import Any, Literal

import msgspec

from ranger_cdap.engine import AccessRequest, ConditionContext, ConditionOutcome, EngineOptions, PolicyEngine
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_policies, decode_service_tags

Json = dict[str, Any]

USERS, GROUPS, ROLES = ("u", "v"), ("g", "h"), ("r", "s", "undefined")
ACCESSES = ("read", "write")
VALUES = ("a", "b", "ab", "aB", "zz")
PATTERNS = ("*", "*", "a*", "*b", "a", "b", "ab", "?", "*a*", "z*", "A")
MACROS = ("{USER}", "{OWNER}", "a{USER}", "{USER}*")
PERSONS = ("u", "v", "a", None)
TIMES = (1_700_000_000_000, 1_900_000_000_000, 0)
ADDRESSES = ("10.1.0.1", "10.2.0.1", None)
ENRICHER = "org.apache.ranger.plugin.contextenricher.RangerTagEnricher"
EVALUATORS = "org.apache.ranger.plugin.conditionevaluator."
CONDITIONS = (
    {"type": "ip", "values": ["10.1.*"]},
    {"type": "ip", "values": ["10.*"]},
    {"type": "ip", "values": ["10.2.0.1"]},
    {"type": "script", "values": ["true"]},
)
OUTCOMES = tuple({"type": "outcome", "values": [one.name]} for one in ConditionOutcome)
"""Conditions of a plugin that always have one outcome."""
FROM_2020 = {"startTime": "2020/01/01 00:00:00", "endTime": "2025/01/01 00:00:00", "timeZone": "UTC"}

Features = frozenset[str]
"""Of `conditions`, `outcomes`, `macros`, `zones`, `tags`, `super`."""


def definition(ignore_case: bool, deny: bool = True) -> Json:
    options = {"ignoreCase": str(ignore_case).lower(), "wildCard": "true"}
    return {
        "name": "kind",
        "resources": [
            {"name": "base", "level": 1, "matcherOptions": options},
            {"name": "table", "level": 2, "parent": "base", "matcherOptions": options},
        ],
        "accessTypes": [{"name": "read"}, {"name": "write", "impliedGrants": ["read"]}],
        "options": {"enableDenyAndExceptionsInPolicies": str(deny).lower()},
        "policyConditions": [
            {"name": "ip", "evaluator": EVALUATORS + "RangerIpMatcher"},
            {"name": "script", "evaluator": "JavaScript"},
            {"name": "outcome", "evaluator": "Outcome"},
        ],
    }


def some(random: Random, names: Sequence[str], most: int = 2) -> list[str]:
    return random.sample(names, random.randint(0, min(most, len(names))))


def item(random: Random, features: Features, prefix: str = "") -> Json:
    drawn: Json = {
        "users": some(random, (*USERS, "{USER}", "{OWNER}"), 1),
        "groups": some(random, (*GROUPS, "public"), 1),
        "roles": some(random, ROLES, 1) if random.random() < 0.4 else [],
        "accesses": [{"type": prefix + name} for name in random.sample(ACCESSES, random.randint(1, 2))],
        "delegateAdmin": random.random() < 0.2,
    }
    if "conditions" in features and random.random() < 0.4:
        drawn["conditions"] = random.sample(conditions(features), random.choice((1, 1, 2)))
    return drawn


def conditions(features: Features) -> tuple[Json, ...]:
    return CONDITIONS + (OUTCOMES if "outcomes" in features else ())


def level(random: Random, features: Features) -> Json:
    names = PATTERNS + (MACROS if "macros" in features else ())
    return {"values": random.sample(names, random.randint(1, 2)), "isExcludes": random.random() < 0.12}


def resource(random: Random, features: Features) -> Json:
    names = ("base", "table")[: random.choice((1, 2, 2, 2))]
    return {name: level(random, features) for name in names}


def policy(random: Random, features: Features, prefix: str = "") -> Json:
    def side(likely: float) -> list[Json]:
        return (
            [item(random, features, prefix) for _ in range(random.choice((1, 1, 2)))]
            if random.random() < likely
            else []
        )

    drawn: Json = {
        "resources": resource(random, features),
        "policyItems": side(0.9),
        "denyPolicyItems": side(0.35),
        "allowExceptions": side(0.25),
        "denyExceptions": side(0.25),
        "isDenyAllElse": random.random() < 0.08,
        "policyPriority": random.choice((0, 0, 0, 0, 1, 1, 5, -1)),
        "isEnabled": random.random() < 0.93,
    }
    if "conditions" in features and random.random() < 0.15:
        drawn["conditions"] = [random.choice(conditions(features))]
    if "conditions" in features and random.random() < 0.15:
        drawn["validitySchedules"] = [FROM_2020]
    if random.random() < 0.1:
        drawn["additionalResources"] = [resource(random, features)]
    if random.random() < 0.04:
        drawn["denyPolicyItems"] = "unreadable"
    return drawn


def numbered(policies: Sequence[Json], first: int = 1) -> list[Json]:
    return [{"id": first + n, "name": f"p{first + n}", "version": 1, **one} for n, one in enumerate(policies)]


def role_set(random: Random) -> Json:
    def members(names: Sequence[str]) -> list[Json]:
        return [{"name": name} for name in some(random, names, 1)]

    roles = [
        {"name": role, "users": members(USERS), "groups": members((*GROUPS, "public")), "roles": members(ROLES[:2])}
        for role in ROLES[:2]
    ]
    return {"serviceName": "s", "rangerRoles": roles}


def scenario(random: Random, features: Features) -> Json:
    """Return the documents of one set."""
    kind = definition(random.random() < 0.5, random.random() < 0.9)
    drawn: Json = {
        "serviceName": "s",
        "serviceDef": kind,
        "policies": numbered([policy(random, features) for _ in range(random.randint(1, 6))]),
    }
    tags: Json = {}
    if "zones" in features:
        drawn["securityZones"] = {
            name: {
                "zoneName": name,
                "resources": [
                    {n: lv["values"] for n, lv in resource(random, frozenset()).items()}
                    for _ in range(random.randint(1, 2))
                ],
                "policies": numbered([policy(random, features) for _ in range(random.randint(0, 2))], 100 * z),
                "containsAssociatedTagService": random.random() < 0.5,
            }
            for z, name in enumerate(some(random, ("z", "y")), 1)
        }
    if "tags" in features:
        drawn["tagPolicies"], tags = tagged(random, features)
    if "super" in features:
        drawn["serviceConfig"] = {
            "ranger.plugin.super.users": "v",
            "ranger.plugin.super.groups": random.choice(("h", "")),
        }
    return {"policies": drawn, "roles": role_set(random), "tags": tags}


def tagged(random: Random, features: Features) -> tuple[Json, Json]:
    kind = definition(False)
    kind |= {
        "name": "tag",
        "resources": [{"name": "tag", "level": 1, "matcherOptions": {"ignoreCase": "false"}}],
        "accessTypes": [{"name": "kind:" + access} for access in ACCESSES],
    }
    if random.random() < 0.9:
        kind["contextEnrichers"] = [{"itemId": 1, "name": "tags", "enricher": ENRICHER}]
    zones = [{"zoneName": random.choice(("z", "y"))} if random.random() < 0.2 else {} for _ in range(3)]
    policies = [
        {
            **policy(random, features, "kind:"),
            "additionalResources": [],
            "resources": {"tag": {"values": [random.choice(("T", "U", "*", "T*"))]}},
            **zone,
        }
        for zone in zones[: random.randint(1, 3)]
    ]
    documents = {
        "serviceName": "t",
        "serviceDef": kind,
        "policies": numbered(policies, 1000),
    }
    names = ("T", "U", "TT")
    periods = [{"validityPeriods": [FROM_2020]} if random.random() < 0.3 else {} for _ in names]
    places = [resource(random, frozenset()) for _ in range(random.randint(1, 3))]
    tags = {
        "serviceName": "s",
        "tags": {
            str(n): {"id": n, "type": name, **period}
            for n, (name, period) in enumerate(zip(names, periods, strict=True))
        },
        "serviceResources": [{"id": n, "resourceElements": place} for n, place in enumerate(places)],
        "resourceToTagIds": {str(n): [random.randrange(3)] for n in range(len(places))},
    }
    return documents, tags


def changed(random: Random, old: Json, features: Features) -> Json:
    """Return a set that differs from another in a policy or two, seldom in more."""
    new = copy.deepcopy(old)
    policies = new["policies"]["policies"]
    for _ in range(random.randint(1, 2)):
        what = random.choice(("add", "remove", "edit", "edit", "priority", "enabled", "deny", "other"))
        one = random.choice(policies) if policies else None
        if what == "add" or one is None:
            policies += numbered([policy(random, features)], 50 + len(policies))
        elif what == "remove":
            policies.remove(one)
        elif what == "edit":
            one |= policy(random, features)
        elif what == "priority":
            one["policyPriority"] = random.choice((0, 1, 5))
        elif what == "enabled":
            one["isEnabled"] = not one.get("isEnabled", True)
        elif what == "deny":
            one["denyPolicyItems"] = [item(random, features)]
        elif random.random() < 0.5:
            new["roles"] = role_set(random)
        else:
            return scenario(random, features)
    return new


def engine(documents: Json, compatibility: Literal["safe", "ranger"] = "safe") -> PolicyEngine:
    return PolicyEngine.build(
        decode_service_policies(msgspec.json.encode(documents["policies"])),
        roles=decode_roles(msgspec.json.encode(documents["roles"])),
        tags=decode_service_tags(msgspec.json.encode(documents.get("tags") or {})),
        options=EngineOptions(compatibility=compatibility, conditions={"Outcome": always}),
    )


def always(values: Sequence[str], _: Mapping[str, Any]) -> Callable[[ConditionContext], ConditionOutcome]:
    """Return the condition of `OUTCOMES`."""
    return lambda _: ConditionOutcome[values[0]]


def requests(features: Features, access: str) -> Iterator[AccessRequest]:
    """Yield every request of the universe for one access type."""
    places: list[dict[str, str]] = [{}]
    places += [{"base": value} for value in VALUES]
    places += [{"base": base, "table": table} for base, table in product(VALUES, repeat=2)]
    groups = [frozenset(each) for each in chain.from_iterable(combinations(GROUPS, n) for n in range(3))]
    times = TIMES if features & {"conditions", "tags"} else TIMES[:1]
    addresses = ADDRESSES if "conditions" in features else (None,)
    owners = ("u", "a", None) if "macros" in features else ("u", None)
    for place, user, group, time, address, owner in product(places, PERSONS, groups, times, addresses, owners):
        yield AccessRequest(place, access, user=user, groups=group, access_time=time, client_ip=address, owner=owner)
