"""The grammar of bodies that are sent to two servers: each member is valid, odd or refused by itself."""

from __future__ import annotations

from random import Random
from typing import Any, Final

Json = dict[str, Any]

_TEXTS: Final = (
    "",
    " ",
    "x",
    "a b",
    "\N{LATIN SMALL LETTER E WITH ACUTE}",
    "a/b",
    "<b>",
    "%",
    "null",
    {"d": 1024},
    {"d": 1025},
)
_NAMES: Final = ("", " ", "new", "in", "out", "T_x", "a/b", "<b>", {"n": 255}, {"n": 256})
_VALUES: Final = {
    "instance": ("cdap", "*", "c?", "", " ", "other", "{USER}"),
    "namespace": (
        "n9",
        "*",
        "fin*",
        "fin1",
        "a-b",
        "\N{LATIN SMALL LETTER E WITH ACUTE}",
        "a\n",
        "{USER}",
        "",
        " n9",
        "NULL",
    ),
    "dataset": ("d", "?*", "a$b", "a b", "d.e-f", "/", "{OWNER}"),
    "application": ("a", "a.b", "*"),
    "program": ("workflow.w", "w", "workflow.*", "flow.a b", "*"),
    "nope": ("x",),
    "NAMESPACE": ("n9", "N9"),
}
_PATHS: Final = (
    *(("instance",), ("instance", "namespace"), ("instance", "namespace", "dataset")),
    *(("instance", "namespace", "application", "program"), ("instance", "dataset"), ("namespace",), ()),
    *(("instance", "namespace", "dataset", "application"), ("instance", "nope"), ("instance", "NAMESPACE")),
)
_TYPES: Final = ("read", "READ", "write", "execute", "admin", "_ALL", "_READ", "fly", "")
_USERS: Final = ("T_alice", "T_bob", " T_bob", "T_ghost", "", "{OWNER}", "NULL")
_GROUPS: Final = ("T_crew", "public", "T_ghost", "", "null")
_ROLES: Final = ("T_role", "T_ghost", "Null")
_CONDITIONS: Final = ("_expression", "ip-range", "")
_TIMES: Final = ("", "2026/01/01 00:00:00", "2025/01/01 00:00:00", "2027/02/29 00:00:00", "soon", "2999/01/01 00:00:00")
_ZONES: Final = ("", "UTC", "Europe/Berlin", "JST", "GMT+5", "Mars/Base")


def drawn_row(random: Random) -> Json:
    """A row as of the table, without an answer: the body of a policy, a zone or a role."""
    post = random.choice(("policy", "policy", "zone", "role"))
    return {"post": post, "with": {"policy": _policy, "zone": _zone, "role": _role}[post](random)}


def _some(random: Random, members: Json) -> Json:
    """Few of the members, so that most bodies have one or two oddities."""
    share = random.choice((0.1, 0.2, 0.4))
    return {name: value for name, value in members.items() if random.random() < share}


def _several(random: Random, values: tuple[Any, ...], most: int = 3) -> list[Any]:
    return [random.choice(values) for _ in range(random.randint(0, most))]


def _policy(random: Random) -> Json:
    members = {
        "name": random.choice(_NAMES),
        "description": random.choice(_TEXTS),
        "service": random.choice(("T", "T_none", "", " ")),
        "serviceType": random.choice(("cdap", "CDAP", "hdfs", "")),
        "zoneName": random.choice(("", "T_finance", "T_none")),
        "isEnabled": random.random() < 0.5,
        "isAuditEnabled": random.random() < 0.5,
        "isDenyAllElse": random.random() < 0.5,
        "policyPriority": random.choice((0, 1, 2, -1)),
        "policyType": random.choice((0, 0, 0, 1)),
        "policyLabels": _several(random, ("a", "", "b", "a")),
        "resources": _levels(random),
        "additionalResources": [_levels(random) for _ in range(random.randint(0, 2))],
        "conditions": [_condition(random) for _ in range(random.randint(0, 1))],
        "validitySchedules": [_schedule(random) for _ in range(random.randint(0, 2))],
    }
    lists = ("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions")
    members |= {name: [_item(random) for _ in range(random.randint(0, 2))] for name in lists}
    return _some(random, members)


def _levels(random: Random) -> Json:
    path = random.choice(_PATHS)
    return {
        level: {"values": _several(random, _VALUES[level], 2) or [_VALUES[level][0]]}
        | _some(random, {"isExcludes": random.random() < 0.5, "isRecursive": random.random() < 0.5})
        for level in path
    }


def _item(random: Random) -> Json:
    types = [{"type": name, "isAllowed": random.random() < 0.95} for name in _several(random, _TYPES)]
    names = {
        "users": _several(random, _USERS),
        "groups": _several(random, _GROUPS, 2),
        "roles": _several(random, _ROLES, 1),
    }
    conditions = [_condition(random) for _ in range(random.random() < 0.2)]
    return {"accesses": types, "delegateAdmin": random.random() < 0.2, "conditions": conditions, **names}


def _condition(random: Random) -> Json:
    return {"type": random.choice(_CONDITIONS), "values": _several(random, ("true", "this is ( not js", ""))}


def _schedule(random: Random) -> Json:
    return {"startTime": random.choice(_TIMES), "endTime": random.choice(_TIMES), "timeZone": random.choice(_ZONES)}


def _zone(random: Random) -> Json:
    services = [
        {level: values["values"] for level, values in _levels(random).items()} for _ in range(random.randint(0, 2))
    ]
    people = {"Users": _USERS, "UserGroups": _GROUPS, "Roles": _ROLES}
    members = {
        f"{part}{kind}": _several(random, names, 2) for part in ("admin", "audit") for kind, names in people.items()
    }
    members["services"] = {random.choice(("T", "T", "T_none")): {"resources": services}}
    return _some(
        random, members | {"name": random.choice(("", " ", "T_new", "T_finance")), "description": random.choice(_TEXTS)}
    )


def _role(random: Random) -> Json:
    people = {"users": _USERS, "groups": _GROUPS, "roles": _ROLES}
    members = {
        kind: [{"name": name, "isAdmin": random.random() < 0.5} for name in _several(random, names, 2)]
        for kind, names in people.items()
    }
    return _some(
        random, members | {"name": random.choice(("", " ", "T_new", "T_role")), "description": random.choice(_TEXTS)}
    )
