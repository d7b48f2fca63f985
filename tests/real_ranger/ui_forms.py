"""What the forms of Ranger 2.9.0's web UI send when they are saved, as pure functions of what is typed in.

Written after the requests that `AddUpdatePolicyForm`, `ServiceForm`, `RoleForm` and `SecurityZoneForm` make: every list
of items is sent, numbers of a new policy are texts, what was read is sent back with it, an id of the address is a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

Json = dict[str, Any]
Levels = Mapping[str, Sequence[str]]

POLICIES: Final = "/service/plugins/policies"
SERVICES: Final = "/service/plugins/services"
ROLES: Final = "/service/roles/roles"
ZONES: Final = "/service/zones/zones"

_ITEMS: Final = ("allowExceptions", "policyItems", "denyPolicyItems", "denyExceptions")
_MASKS: Final[Json] = {"dataMaskPolicyItems": [], "rowFilterPolicyItems": []}
_SCHEDULE: Final = ("startTime", "endTime", "timeZone")


def item(
    *accesses: str, delegate: bool = False, conditions: Mapping[str, str] | None = None, **who: Sequence[str]
) -> Json:
    """A row of the table of items; a list that is empty is not sent."""
    row: Json = {"delegateAdmin": delegate} if delegate else {}
    if accesses:
        row["accesses"] = [{"type": name, "isAllowed": True} for name in accesses]
    row |= {kind: list(who[kind]) for kind in ("users", "groups", "roles") if who.get(kind)}
    if conditions:
        row["conditions"] = [{"type": name, "values": [text]} for name, text in conditions.items()]
    return row


def new_policy(
    service: str, name: str, *resources: Levels, zone: str = "", excludes: bool = True, **typed: Any
) -> Json:
    """The body of a POST: the first resource is the policy's, the others are additional ones.

    `excludes`: whether the definition lets levels exclude, all but the first; `typed` are the other fields by name.
    """
    first, *others = [_resource(levels, excludes) for levels in resources]
    data: Json = {kind: typed.pop(kind, []) for kind in _ITEMS} | _MASKS
    data |= {
        "description": typed.pop("description", ""),
        "isAuditEnabled": typed.pop("isAuditEnabled", True),
        "isDenyAllElse": typed.pop("isDenyAllElse", False),
        "isEnabled": typed.pop("isEnabled", True),
        "name": name,
        "policyLabels": typed.pop("policyLabels", []),
        "policyPriority": "1" if typed.pop("override", False) else "0",
        "policyType": "0",
        "service": service,
        "resources": first,
        "additionalResources": others,
        "conditions": typed.pop("conditions", []),
    }
    data |= {"validitySchedules": typed.pop("validitySchedules")} if "validitySchedules" in typed else {}
    assert not typed, f"no field of the form: {typed}"
    return data | ({"zoneName": zone} if zone else {})


def _resource(levels: Levels, excludes: bool) -> Json:
    flag = {"isExcludes": False} if excludes else {}
    return {level: {"values": list(values)} | (flag if n else {}) for n, (level, values) in enumerate(levels.items())}


def saved_policy(read: Json, **typed: Any) -> Json:
    """The body of a PUT: all that was read, and over it all that the form shows, with these fields typed anew."""
    data: Json = {kind: [_item_again(row) for row in read.get(kind, ())] for kind in _ITEMS} | _MASKS
    if read.get("isDenyAllElse"):
        data |= {"denyPolicyItems": [], "denyExceptions": []}
    data |= {
        "description": read.get("description", ""),
        "isAuditEnabled": read.get("isAuditEnabled", True),
        "isDenyAllElse": read.get("isDenyAllElse", False),
        "isEnabled": read.get("isEnabled", True),
        "name": read["name"],
        "policyLabels": read.get("policyLabels", []),
        "policyPriority": "1" if read.get("policyPriority") else "0",
        "policyType": read.get("policyType", 0),
        "service": read["service"],
        "resources": read["resources"],
        "additionalResources": read.get("additionalResources", []),
        "conditions": [
            {"type": one["type"], "values": [",".join(one["values"])]} for one in read.get("conditions", ())
        ],
    }
    if schedules := read.get("validitySchedules"):
        kept = [{key: schedule[key] for key in _SCHEDULE if schedule.get(key)} for schedule in schedules]
        data["validitySchedules"] = kept
    return read | data | typed


def _item_again(row: Json) -> Json:
    conditions = {one["type"]: ",".join(one["values"]) for one in row.get("conditions", ())}
    names = [access["type"] for access in row.get("accesses", ())]
    again = item(*names, conditions=conditions, **{kind: row.get(kind, []) for kind in ("users", "groups", "roles")})
    return {"delegateAdmin": row["delegateAdmin"], **again} if "delegateAdmin" in row else again


def saved_service(read: Json, *, tag_service: str | None = None, **configs: str | None) -> Json:
    """The body of a PUT: an id as text, an empty `tagService` or audit filter without one, nulls of fields."""
    given = {name.replace("__", "."): value for name, value in configs.items()}
    return read | {
        "id": str(read["id"]),
        "displayName": read["displayName"],
        "description": read.get("description"),
        "tagService": read.get("tagService", "") if tag_service is None else tag_service,
        "isEnabled": read["isEnabled"],
        "configs": {"ranger.plugin.audit.filters": ""} | read.get("configs", {}) | given,
    }


def role(name: str, read: Json | None = None, **members: Mapping[str, bool]) -> Json:
    """The body of a POST or PUT: `users`, `groups` and `roles` by name, with whether they administer the role."""
    rows = {kind: [{"name": n, "isAdmin": admin} for n, admin in named.items()] for kind, named in members.items()}
    return {**(read or {}), "name": name, "description": (read or {}).get("description", ""), **rows}


def zone(
    name: str, services: Mapping[str, Sequence[Levels]], read: Json | None = None, **people: Sequence[str]
) -> Json:
    """The body of a POST or PUT: lists of people are sent also when they are empty, those of roles are not."""
    always = ("adminUsers", "adminUserGroups", "auditUsers", "auditUserGroups")
    data: Json = {} if read is None else {"id": str(read["id"])}
    data |= {"name": name, "description": ""} | {kind: list(people.get(kind, ())) for kind in always}
    data |= {kind: list(people[kind]) for kind in ("adminRoles", "auditRoles") if people.get(kind)}
    data["tagServices"] = list(people.get("tagServices", ()))
    data["services"] = {
        service: {"resources": [{level: list(values) for level, values in row.items()} for row in rows]}
        for service, rows in services.items()
    }
    return {**(read or {}), **data}
