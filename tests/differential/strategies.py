"""What is put before both engines: a scenario, that is policies with roles, and requests about them.

Names come from alphabets so small that they collide: a user is also a dataset, a role contains itself. A scenario's
requests are every resource x every person x every question it has drawn: little is drawn and much is compared.

Left out, because Java itself gives no one answer: two policies with one id, access types in another case
(ranger-semantics.md §5.7, §7.2), and implied grants that do not list all they imply (§7.4).
"""

from __future__ import annotations

from itertools import cycle, product
from typing import Any

from hypothesis import strategies as st

from tests.differential.definitions import definitions, paths

Json = dict[str, Any]

NAMES = ("a", "b", "ab", "aab", "A")
PATTERNS = ("*", "*", "*", "a*", "*b", "a?", "?", "a*b", "**", "*?", "a*?", "?*", "*a*", "*a*b*")
MACROS = ("{USER}", "{OWNER}", "a{USER}", "{USER}*", "*{USER}", "{USER}?", "{NOBODY}", "{team}")
ODD = ("", "\\{USER}", "a\\b", "{", "{USER", "a b", "[a]", "a.b", "ß", "{a\\}b}", " a")
USERS = ("a", "b", "ab", "c")
GROUPS = ("g", "h", "a")
ROLES = ("r", "s", "t")

RESOURCES_A_SCENARIO, PEOPLE_A_SCENARIO, QUESTIONS_A_SCENARIO = 5, 4, 3
REQUESTS_A_SCENARIO = RESOURCES_A_SCENARIO * PEOPLE_A_SCENARIO * QUESTIONS_A_SCENARIO


def some(values: tuple[str, ...], most: int = 2) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), max_size=most, unique=True)


# --- policies -----------------------------------------------------------------------------------------------------

policy_values = st.one_of(
    st.just(["*"]),
    st.just(["*"]),
    st.lists(st.sampled_from(NAMES + PATTERNS + MACROS), min_size=1, max_size=3),
    st.lists(st.sampled_from(NAMES + PATTERNS + ODD), max_size=2),
)
rarely = st.sampled_from([False] * 7 + [True])
levels = st.fixed_dictionaries({"values": policy_values}, optional={"isExcludes": rarely, "isRecursive": rarely})


@st.composite
def policy_resources(draw: st.DrawFn, definition: Json) -> Json:
    """A path from a root down to some level; now and then one that fits no hierarchy."""
    path = draw(st.sampled_from(paths(definition)))
    named = path[: draw(st.integers(1, len(path)))]
    oddity = draw(st.integers(0, 29))
    if oddity == 29:
        named = ["unknown", *named]
    elif oddity == 28:
        named = named[1:]
    return {name: draw(levels) for name in named}


def items(definition: Json, conditions: st.SearchStrategy[list[Json]] | None = None) -> st.SearchStrategy[list[Json]]:
    names = [access["name"] for access in definition["accessTypes"]]
    names += [access["name"] for access in definition.get("markerAccessTypes") or ()]
    access = st.fixed_dictionaries(
        {"type": st.sampled_from([*names * 3, "bogus"])}, optional={"isAllowed": st.just(True) | rarely}
    )
    item = st.fixed_dictionaries(
        {
            "users": some((*USERS, "{USER}", "{OWNER}")),
            "groups": some((*GROUPS, "public")),
            "roles": some(ROLES, 1),
            "accesses": st.lists(access, min_size=1, max_size=3),
        },
        optional={"delegateAdmin": st.booleans()} | ({"conditions": conditions} if conditions else {}),
    )
    return st.lists(item, max_size=2)


def core_policies(definition: Json) -> st.SearchStrategy[Json]:
    """Without id and name: those are given by the place in the list."""
    side = items(definition)
    return st.fixed_dictionaries(
        {"resources": policy_resources(definition), "policyItems": side},
        optional={
            "denyPolicyItems": side,
            "allowExceptions": side,
            "denyExceptions": side,
            "isDenyAllElse": rarely,
            "isEnabled": st.sampled_from([True] * 5 + [False]),
            "isAuditEnabled": st.booleans(),
            "policyPriority": st.sampled_from([0, 0, 0, 1, 1, -1, 7]),
            "policyType": st.sampled_from([0, 0, 0, 9]),
            "additionalResources": st.lists(policy_resources(definition), max_size=2),
        },
    )


def numbered(policies: list[Json], first: int = 1, names: str = "policy") -> list[Json]:
    """Ids from `first` on, in no relation to the names, so that no order can be mistaken for another."""
    count = len(policies)
    return [
        {"id": first + n, "version": n, "name": f"{names} {count - n}", **policy} for n, policy in enumerate(policies)
    ]


@st.composite
def role_sets(draw: st.DrawFn) -> Json:
    """Roles that contain each other, also in circles, and roles nobody has defined."""

    def members(values: tuple[str, ...]) -> list[Json]:
        return [{"name": name} for name in draw(some(values))]

    return {
        "serviceName": "s",
        "roleVersion": 1,
        "rangerRoles": [
            {
                "id": n,
                "name": name,
                "users": members(USERS),
                "groups": members((*GROUPS, "public")),
                "roles": members(ROLES),
            }
            for n, name in enumerate(draw(some(ROLES, 3)))
        ],
    }


# --- requests -----------------------------------------------------------------------------------------------------

REQUEST_VALUES = (
    *NAMES * 3,
    "*",
    "",
    "a\\b",
    "{USER}",
    "{NOBODY}",
    "a b",
    "[a]",
    "axb",
    "ß",
    "{team}",
    "a.b",
    " a",
    "{a}b}",
)
request_values = st.sampled_from(REQUEST_VALUES)


@st.composite
def request_resources(draw: st.DrawFn, definition: Json) -> Json:
    path = draw(st.sampled_from(paths(definition)))
    named = path[: draw(st.integers(0, len(path)))]
    oddity = draw(st.integers(0, 29))
    if oddity == 29:
        named = [*named, "unknown"]
    elif oddity == 28:
        named = named[1:]
    several = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3)
    return {name: draw(several) if draw(rarely) and oddity < 15 else draw(request_values) for name in named}


people = st.fixed_dictionaries(
    {"user": st.sampled_from([*USERS, *USERS, None])},
    optional={
        "groups": some((*GROUPS, "public")),
        "roles": some(ROLES, 2),
        "resourceOwner": st.sampled_from([*USERS, "", None]),
        "context": st.fixed_dictionaries(
            {}, optional={"token:team": st.sampled_from(NAMES), "token:USER": st.just("b")}
        ),
    },
)


def questions(definition: Json) -> st.SearchStrategy[Json]:
    """An access type; `_any`, `_admin`; below the resource; several access types in groups."""
    names = [access["name"] for access in definition["accessTypes"]]
    plain = st.sampled_from([*names, *names, "bogus", "_admin", "_any", None, ""])
    widths = {"matchingScope": st.sampled_from(["SELF", "SELF_OR_DESCENDANTS"]), "ignoreDescendantDeny": st.booleans()}
    one = st.fixed_dictionaries({"accessType": plain}, optional=widths)
    kinds = {"accessType": st.sampled_from(names), "allAccessTypes": st.permutations(names).map(lambda each: each[:3])}
    several = st.fixed_dictionaries(kinds, optional=widths)
    return st.one_of(one, one, one, several, several.flatmap(_grouped))


def _grouped(question: Json) -> st.SearchStrategy[Json]:
    group = st.lists(st.sampled_from(question["allAccessTypes"]), min_size=1, max_size=2, unique=True).map(sorted)
    groups = st.lists(group, min_size=1, max_size=3, unique_by=tuple)
    return groups.map(lambda drawn: {**question, "allAccessTypeGroups": drawn})


def combined(resources: list[Json], persons: list[Json], asked: list[Json]) -> list[Json]:
    every = product(resources, persons, asked)
    return [
        {"id": n, "resource": r, **person, **ask, "accessTime": 1_700_000_000_000}
        for n, (r, person, ask) in enumerate(every)
    ]


def exactly(count: int, of: st.SearchStrategy[Json]) -> st.SearchStrategy[list[Json]]:
    return st.lists(of, min_size=count, max_size=count)


@st.composite
def core_scenarios(draw: st.DrawFn) -> Json:
    """One unzoned set of policies and roles: everything the reference engine knows."""
    definition = draw(definitions())
    policies = draw(st.lists(core_policies(definition), min_size=draw(st.sampled_from([0, 2, 4])), max_size=8))
    return {
        "policies": {
            "serviceName": "s",
            "policyVersion": 1,
            "serviceDef": definition,
            "policies": numbered(policies),
        },
        "roles": draw(role_sets()),
        "requests": combined(
            draw(exactly(RESOURCES_A_SCENARIO, request_resources(definition))),
            draw(exactly(PEOPLE_A_SCENARIO, people)),
            draw(exactly(QUESTIONS_A_SCENARIO, questions(definition))),
        ),
    }


def everywhere(scenario: Json, fields: list[Json]) -> None:
    """Give each request one of the drawn extra fields, in turn."""
    for request, more in zip(scenario["requests"], cycle(fields), strict=False):
        context = {**request.get("context", {}), **more.get("context", {})}
        request.update(more)
        if context:
            request["context"] = context
