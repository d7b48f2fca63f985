"""Small sets of policies on one resource, and the words in which the laws speak of them.

Each set has a resource of its own, so that one download holds many. Principals and access types are so few that they
meet in every way: allow and deny items, exceptions, deny-all-else, priorities.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

Json = dict[str, Any]
Policies = Sequence[Mapping[str, Any]]

USERS = ("alice", "bob")
ACCESS_TYPES = ("read", "write")
ALLOW, DENY, ALLOW_EXCEPTIONS, DENY_EXCEPTIONS = "policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions"
READ_OR_WRITE, READ_AND_WRITE = "read or write", "read and write"
QUESTIONS: Mapping[str, Json] = {
    READ_OR_WRITE: {"accessType": "read", "allAccessTypes": list(ACCESS_TYPES)},
    READ_AND_WRITE: {
        "accessType": "read",
        "allAccessTypes": list(ACCESS_TYPES),
        "allAccessTypeGroups": [[access] for access in ACCESS_TYPES],
    },
}
"""Questions about several access types; any other is about the one of its name."""

ENRICHER = "org.apache.ranger.plugin.contextenricher.RangerTagEnricher"
SIDES = (ALLOW, DENY, ALLOW_EXCEPTIONS, DENY_EXCEPTIONS)


@dataclass(frozen=True)
class Case:
    """A user asks for an access type; the policies are all there are on the resource and, if it has one, on its tag."""

    policies: Policies
    user: str
    access: str
    tag_policies: Policies = ()


def hits(policy: Mapping[str, Any], side: str, case: Case) -> bool:
    """Return True if an item of this side names the user, or everyone, and the access type."""
    return any(
        (case.user in item["users"] or item["groups"]) and case.access in [each["type"] for each in item["accesses"]]
        for item in policy[side]
    )


def effect(policy: Mapping[str, Any], case: Case) -> bool | None:
    """Return what one policy alone says: True to allow, False to deny, None if it is silent (§6.6)."""
    if hits(policy, DENY, case) and not hits(policy, DENY_EXCEPTIONS, case):
        return False
    if hits(policy, ALLOW, case) and not hits(policy, ALLOW_EXCEPTIONS, case):
        return True
    return False if policy["isDenyAllElse"] else None


def effects(policies: Policies, case: Case) -> list[tuple[int, bool]]:
    """Return priority and effect of each policy that is not silent."""
    said = ((policy["policyPriority"], effect(policy, case)) for policy in policies)
    return [(priority, effect) for priority, effect in said if effect is not None]


Drawing = Callable[[Random], list[Json]]
"""Draws the policies of one resource."""


def policies(
    *sides: str,
    most: int = 4,
    priorities: Sequence[int] = (0,),
    deny_all_else: Sequence[bool] = (False, False, False, True),
) -> Drawing:
    """Draw one policy or several, with items on these sides only."""

    def item(random: Random) -> Json:
        return {
            "users": random.sample(USERS, random.randint(0, len(USERS))),
            "groups": random.choice(([], [], ["public"])),
            "accesses": [{"type": name} for name in random.sample(ACCESS_TYPES, random.randint(1, len(ACCESS_TYPES)))],
        }

    def policy(random: Random) -> Json:
        return {
            **{
                side: [item(random) for _ in range(random.randint(0, 2) * (side in (sides or SIDES)))] for side in SIDES
            },
            "policyPriority": random.choice(priorities),
            "isDenyAllElse": random.choice(deny_all_else),
        }

    return lambda random: [policy(random) for _ in range(random.randint(1, most))]


def cases_of(drawn: Sequence[Policies], accesses: Sequence[str], on_tags: Sequence[Policies] = ()) -> Iterator[Case]:
    """Return everyone's questions about each resource, in the order of `scenario`."""
    for place, user, access in product(range(len(drawn)), USERS, accesses):
        yield Case(drawn[place], user, access, on_tags[place] if on_tags else ())


def scenario(drawn: Sequence[Policies], accesses: Sequence[str], on_tags: Sequence[Policies] = ()) -> Json:
    """Return one download with each set on a resource of its own, and all questions about them.

    A resource `place=3` has the tag `T3` if there are tag policies.
    """
    download: Json = {
        "serviceName": "s",
        "policyVersion": 1,
        "serviceDef": definition("s", "place"),
        "policies": numbered(drawn, "place", str),
    }
    tagged: Json = {}
    if on_tags:
        download["tagPolicies"] = {
            "serviceName": "t",
            "policyVersion": 1,
            "serviceDef": {
                **definition("tag", "tag", prefix="s:"),
                "contextEnrichers": [{"itemId": 1, "name": "tags", "enricher": ENRICHER}],
            },
            "policies": numbered(on_tags, "tag", "T{}".format, first=10_000, prefix="s:"),
        }
        tagged = {"tags": tags_of(len(drawn))}
    questions = product(range(len(drawn)), USERS, accesses)
    requests = [
        {"resource": {"place": str(place)}, "user": user, "accessTime": 1_700_000_000_000}
        | QUESTIONS.get(access, {"accessType": access})
        for place, user, access in questions
    ]
    return {"policies": download, "requests": requests, **tagged}


def definition(name: str, level: str, prefix: str = "") -> Json:
    """Return a service definition of one level, with denies."""
    return {
        "name": name,
        "resources": [{"name": level, "level": 1, "matcherOptions": {"ignoreCase": "false"}}],
        "accessTypes": [{"name": prefix + access} for access in ACCESS_TYPES],
        "options": {"enableDenyAndExceptionsInPolicies": "true"},
    }


def numbered(drawn: Sequence[Policies], level: str, value: Any, first: int = 1, prefix: str = "") -> list[Json]:
    """Return the policies of all sets as Ranger sends them."""
    found = [(place, policy) for place, policies in enumerate(drawn) for policy in policies]
    return [
        {
            **policy,
            **{side: [prefixed(item, prefix) for item in policy[side]] for side in SIDES},
            "id": first + n,
            "version": 1,
            "name": f"policy {first + n}",
            "resources": {level: {"values": [value(place)]}},
        }
        for n, (place, policy) in enumerate(found)
    ]


def prefixed(item: Mapping[str, Any], prefix: str) -> Json:
    """Return an item with the access types of a tag service, which carry the service type."""
    return {**item, "accesses": [{**each, "type": prefix + each["type"]} for each in item["accesses"]]}


def tags_of(count: int) -> Json:
    """Return a tag download in which each place has a tag of its own."""
    return {
        "serviceName": "s",
        "tagVersion": 1,
        "tags": {str(n): {"id": n, "type": f"T{n}"} for n in range(count)},
        "serviceResources": [{"id": n, "resourceElements": {"place": {"values": [str(n)]}}} for n in range(count)],
        "resourceToTagIds": {str(n): [n] for n in range(count)},
    }
