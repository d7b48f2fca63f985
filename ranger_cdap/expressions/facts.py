"""Facts of a request, as JSON for a script: the fields of RangerRequestScriptEvaluator.toJson, and what is unknown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from ranger_cdap.engine import ANY_ACCESS, ConditionContext, ContextTag
from ranger_cdap.engine.view import UNREADABLE_TAG, read_date
from ranger_cdap.keyed import grouped

Json = dict[str, Any]

_FIELDS: Final = (
    "accessTime",
    "accessType",
    "action",
    "clientIPAddress",
    "clusterName",
    "clusterType",
    "resource",
    "user",
    "userGroups",
    "userRoles",
    "userGroupAttributes",
    "uga",
)
_UNUSABLE: Final = ("clientType", "forwardedAddresses", "remoteIPAddress", "requestData", "resourceMatchingScope")
_GROUPS: Final = ("userGroups", "userRoles", "userGroupAttributes", "uga")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DATE: Final = re.compile(r"(\d{4})/(\d{2})/(\d{2})(?: (\d{2}):(\d{2})(?::(\d{2}))?)?", re.ASCII)
_ZONE: Final = re.compile(r"[A-Z][A-Za-z]+/[A-Za-z0-9_/+-]{1,60}|UTC|GMT", re.ASCII)


def facts_of(c: ConditionContext, moments: Mapping[str, int]) -> Json:
    """Return the facts of a request; a field in `doubtful` is unknown, one in `unusable` is not in the subset.

    `moments` are the times that the script names, in epoch milliseconds, by `date|zone`.
    """
    groups = in_java_order(c.groups)
    group_attributes = _group_attributes(c, groups)
    user_attributes = dict(c.attributes.user_attr_mapping.get(c.user or "", {})) if c.attributes is not None else {}
    request: Json = {
        "accessType": c.access_type or ANY_ACCESS,
        "action": c.action,
        "clientIPAddress": c.client_ip,
        # Ranger's requests for tag policies carry none; all others have at least an empty text.
        "clusterName": c.cluster_name or (None if c.tag else ""),
        "clusterType": c.cluster_type or (None if c.tag else ""),
        "resource": {**(c.resource if c.tag is None else {"tag": c.tag.type}), "_ownerUser": c.owner},
        "user": c.user,
        "userGroups": groups,
        "userRoles": in_java_order(c.roles),
        "userAttributes": {**user_attributes, "_name": c.user},
        "userGroupAttributes": group_attributes,
        "uga": _by_attribute(group_attributes),
    }
    if c.access_time:
        request["accessTime"] = c.access_time
    return {
        "request": request,
        "fields": (*_FIELDS, *_UNUSABLE),
        "doubtful": dict.fromkeys(_doubtful(c), True),
        "unusable": dict.fromkeys((*_UNUSABLE, *_unusable(c)), True),
        "context": {k: v for k, v in c.context.items() if isinstance(v, str)},
        "moments": moments,
        "userAttributeNames": in_java_order(user_attributes.keys() - {"_name"}),
        "groupAttributeNames": in_java_order({n for found in group_attributes.values() for n in found} - {"_name"}),
        **_tag_facts(c),
    }


def in_java_order(names: Iterable[str]) -> list[str]:
    """Return names in the order of Java's strings, by UTF-16 units."""
    return sorted(names, key=lambda name: name.encode("utf-16-be", "surrogatepass"))


def moments_in(texts: Iterable[str]) -> dict[str, int]:
    """Return the times that strings of a script may stand for, in every time zone that another one names."""
    dates = {text: time for text in texts if (time := _date(text)) is not None}
    zones = {text: zone for text in texts if (zone := _zone(text)) is not None}
    found = {f"{text}|": time for text, time in dates.items()}
    for text, time in dates.items():
        for name, zone in zones.items():
            # Java asks for the offset of the zone at the time that the text is in UTC.
            offset = (_EPOCH + timedelta(milliseconds=time)).astimezone(zone).utcoffset() or timedelta()
            found[f"{text}|{name}"] = time - offset // timedelta(milliseconds=1)
    return {key: time for key, time in found.items() if time >= 0}


def _date(text: str) -> int | None:
    parts = _DATE.fullmatch(text)
    if parts is None:
        return None
    try:
        year, month, day, hour, minute, second = (int(part or 0) for part in parts.groups())
        return (datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
    except ValueError:
        return None


def _zone(text: str) -> ZoneInfo | None:
    if not _ZONE.fullmatch(text):
        return None
    try:
        return ZoneInfo(text)
    except (ValueError, OSError):
        return None


def _group_attributes(c: ConditionContext, groups: Iterable[str]) -> dict[str, dict[str, str]]:
    known = c.attributes.group_attr_mapping if c.attributes is not None else {}
    return {group: {**known.get(group, {}), "_name": group} for group in groups}


def _by_attribute(group_attributes: Mapping[str, Mapping[str, str]]) -> Json:
    """Return the first value, and all values, of each attribute of the user's groups."""
    every = grouped(pair for attributes in group_attributes.values() for pair in attributes.items())
    return {"sVal": {name: values[0] for name, values in every.items()}, "mVal": every}


def _doubtful(c: ConditionContext) -> Iterable[str]:
    """Yield the fields whose value is unknown."""
    values = {
        "accessTime": c.access_time,
        "action": (c.action or "").strip(),
        "clientIPAddress": c.client_ip,
        "clusterName": c.cluster_name,
        "clusterType": c.cluster_type,
        "user": c.user,
    }
    yield from (name for name, value in values.items() if not value)
    if c.attributes is None or c.user is None:
        yield "userAttributes"
    if c.attributes is None:
        yield from ("userGroupAttributes", "uga")
    if not c.groups_known:
        yield from _GROUPS
    if c.uncertain_tags or UNREADABLE_TAG in c.tags:
        yield "tags"
        yield "tag"


def _unusable(c: ConditionContext) -> Iterable[str]:
    """Yield the fields of which it is not known what Ranger would make."""
    by_type: dict[str, ContextTag] = {}
    for tag in c.resource_tags:
        if by_type.setdefault(tag.type, tag) != tag:
            yield "tags"  # which of two tags of one type counts depends on Java's hash order
    if c.tag is None and (c.tag_attributes is not None or c.resource_tags):
        yield "tag"  # to a resource policy Ranger shows the tag that it happened to look at last


def _tag_facts(c: ConditionContext) -> Json:
    tags = {tag.type: tag for tag in c.resource_tags}
    values = grouped(pair for tag in tags.values() for pair in tag.attributes)
    own = c.tag.attributes if c.tag is not None else ()
    texts = {value for found in values.values() for value in found}.union(value for _, value in own)
    dates = {text: date for text in texts if (date := read_date(text)) is not None}
    return {
        "tag": _whole(c.tag) if c.tag is not None and tags else {},
        "tags": {name: _whole(tag) for name, tag in tags.items()},
        "tagNames": in_java_order(tags),
        "tagAttributes": {name: dict(tag.attributes) for name, tag in tags.items() if tag.attributes},
        "tagAttributeNames": in_java_order(values.keys() - {"_type", "_matchType"}),
        "valuesOfTags": {name: in_java_order(found) for name, found in values.items()},
        "currentTag": None if c.tag is None else {"type": c.tag.type, "attributes": dict(c.tag.attributes)},
        "dates": dates,
    }


def _whole(tag: ContextTag) -> Json:
    return {**dict(tag.attributes), "_type": tag.type, "_matchType": tag.match_type}
