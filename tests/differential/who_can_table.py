"""What the table of `who_can` claims, as requests that can be put before a judge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from ranger_cdap.engine import PolicyEngine, ResourceAccess, Verdict
from ranger_cdap.engine.compiled.items import OWNER_MACRO
from tests.differential.our_engine import read_request

Json = Mapping[str, Any]
Claim = tuple[Json, Verdict | None]
"""A request, and how who asks stands to it; None: nothing is said of him, so he is not allowed."""

SOMEBODY = "somebody else"
"""A user whom no policy and no resource names."""

BEYOND = ("groups", "roles", "elementScopes", "tags", "allAccessTypes", "allAccessTypeGroups")
"""What no entry is about: persons who are several things at once, and more than one plain question."""


def contradicted(claims: Sequence[Claim], answers: Sequence[Json]) -> list[tuple[Json, Verdict | None, Json]]:
    """The claims that a judge does not share; a conditional entry claims nothing."""
    return [
        (request, status, answer)
        for (request, status), answer in zip(claims, answers, strict=True)
        if status is not Verdict.CONDITIONAL and (status is Verdict.ALLOWED) is not answer["allowed"]
    ]


def table_of(engine: PolicyEngine, request: Json) -> ResourceAccess:
    asked = read_request(request)
    return engine.who_can(asked.resource, matching_scope=asked.matching_scope, owner=asked.owner)


def claims_about(engine: PolicyEngine, where: Json, circumstances: Sequence[Json]) -> Iterator[Claim]:
    """Everything a table says of one resource, in each of the circumstances."""
    table = table_of(engine, where)
    rows: list[tuple[Json, Mapping[str, Any]]] = [({"user": SOMEBODY}, table.all_users)]
    rows += [({"user": name}, row) for name, row in table.users.items()]
    rows += [({"user": SOMEBODY, "groups": [name]}, row) for name, row in table.groups.items()]
    rows += [({"user": SOMEBODY, "roles": [name]}, row) for name, row in table.roles.items()]
    for (who, row), access, circumstance in product(rows, access_types(engine), circumstances):
        entry = row.get(access)
        yield {**circumstance, **where, **who, "accessType": access}, entry and entry.verdict


def access_types(engine: PolicyEngine) -> list[str]:
    return [*(access.name for access in engine.service_def.access_types), "_admin"]


def claimed(engine: PolicyEngine, request: Json) -> Verdict | None:
    """What the table says of the user of one request."""
    table = table_of(engine, request)
    entry = table.users.get(request["user"], table.all_users).get(request["accessType"])
    return entry and entry.verdict


def is_in_a_table(engine: PolicyEngine, scenario: Json, request: Json) -> bool:
    """Whether one entry of a table answers the request: a user without groups, and an access type of the definition.

    A table does not know macros of a request's context, groups of the user store, roles of users whom no policy names,
    what `{USER}` in a resource means for users whom nothing names, and users who are called like a macro
    (docs/reference/compatibility.md).
    """
    user = request.get("user")
    return (
        bool(user)
        and user != OWNER_MACRO
        and request.get("accessType") in access_types(engine)
        and not any(request.get(key) for key in BEYOND)
        and not any(key.startswith("token:") for key in request.get("context") or {})
        and not (scenario.get("userStore") or {}).get("userGroupMapping", {}).get(user)
        and (user in request["resource"].values() or not has_user_macro(scenario))
    )


def has_user_macro(scenario: Json) -> bool:
    policies = scenario["policies"]["policies"]
    return "{USER}" in json.dumps([[p["resources"], p.get("additionalResources")] for p in policies])
