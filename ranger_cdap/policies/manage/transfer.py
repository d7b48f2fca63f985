"""Policies as a file: what of them travels, and what it takes to make a service's policies be those of a file. Pure.

Policies are known by name and zone; ids, versions, times and who made them stay where they are. Nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from ranger_cdap.errors import InvalidInput

Json = dict[str, Any]

# Fields of a policy that Ranger Admin sets itself.
_OF_THE_SERVER = frozenset(
    {
        *("id", "guid", "version", "createTime", "updateTime", "createdBy", "updatedBy"),
        *("resourceSignature", "service", "serviceType"),
    }
)
# What Ranger takes a missing member for, so that it is the same as one that is not there.
_DEFAULTS: Mapping[str, Any] = {
    "isEnabled": True,
    "isAuditEnabled": True,
    "isAllowed": True,
    "policyType": 0,
    "policyPriority": 0,
    "isDenyAllElse": False,
    "delegateAdmin": False,
    "isExcludes": False,
    "isRecursive": False,
    "description": "",
    "zoneName": "",
}


class Change(Enum):
    """The change of a policy."""

    CREATE = "create"
    UPDATE = "update"
    KEEP = "keep"
    EXTRA = "extra"


@dataclass(frozen=True, slots=True)
class Step:
    """A policy of the file or of the service: what would be done, and the members that differ."""

    change: Change
    name: str
    zone: str
    differs: tuple[str, ...] = ()
    wanted: Json | None = None
    there: Json | None = None

    def __str__(self) -> str:
        where = f" in zone `{self.zone}`" if self.zone else ""
        what = {Change.EXTRA: "is not in the file", Change.UPDATE: f"differs in {', '.join(self.differs)}"}
        told = f": {what[self.change]}" if self.change in what else ""
        return f"{self.change.value} policy `{self.name}`{where}{told}"


def portable(policy: Mapping[str, Any]) -> Json:
    """The transferred part of a policy: everything people write, without values equal to a missing field."""
    kept = {name: value for name, value in policy.items() if name not in _OF_THE_SERVER}
    reduced: Json = _reduced({name: value for name, value in kept.items() if name not in _RESOURCES})
    for name, read in _RESOURCES.items():
        if kept.get(name):
            reduced[name] = read(kept[name])
    return reduced


def to_file(policies: Sequence[Mapping[str, Any]]) -> bytes:
    """The file of a service's policies, by zone and name, so that two files can be compared line by line."""
    travelling = sorted(
        map(portable, policies), key=lambda policy: (policy.get("zoneName", ""), policy.get("name", ""))
    )
    return msgspec.json.format(msgspec.json.encode({"policies": travelling}, order="sorted"), indent=2) + b"\n"


def from_file(content: bytes) -> list[Json]:
    """The policies of a file.

    Raises:
        InvalidInput: it is no such file, or two of its policies have one name.
    """
    try:
        policies = msgspec.json.decode(content)["policies"]
        found = [portable(policy) for policy in policies]
        keys = [_key(policy) for policy in found]
    except (msgspec.MsgspecError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InvalidInput("the file holds no policies: it is not one of `ranger-cdap policies export`") from None
    doubled = sorted({name for zone, name in keys if keys.count((zone, name)) > 1})
    if doubled:
        raise InvalidInput(f"two policies of the file have the name `{doubled[0]}`")
    if not all(isinstance(name, str) and name for _, name in keys):
        raise InvalidInput("a policy of the file has no name")
    return found


def plan(wanted: Sequence[Json], there: Sequence[Json]) -> tuple[Step, ...]:
    """The steps that make a service's policies those of a file, and the policies that the file does not have."""
    known = {_key(policy): policy for policy in there}
    steps = []
    for policy in wanted:
        zone, name = _key(policy)
        present = known.pop((zone, name), None)
        differs = _differing(policy, portable(present)) if present is not None else ()
        change = Change.CREATE if present is None else Change.UPDATE if differs else Change.KEEP
        steps.append(Step(change, name, zone, differs, policy, present))
    return (*steps, *(Step(Change.EXTRA, name, zone, there=policy) for (zone, name), policy in known.items()))


def body(step: Step, service: str) -> Json:
    """The policy to send: all of the file's, and of the one that is there only what the server keeps of it."""
    kept = {name: value for name, value in (step.there or {}).items() if name in _OF_THE_SERVER}
    return {**kept, **(step.wanted or {}), "service": service}


def _key(policy: Mapping[str, Any]) -> tuple[str, Any]:
    return policy.get("zoneName") or "", policy.get("name")


def _differing(one: Json, other: Json) -> tuple[str, ...]:
    return tuple(sorted(name for name in {*one, *other} if one.get(name) != other.get(name)))


def _levels(resources: Any) -> Any:
    """A resource: nothing of it is left out, as a level without values matches everything."""
    return {name: {"values": [], **_written(level)} for name, level in resources.items()}


def _written(level: Any) -> Json:
    return {name: value for name, value in level.items() if value is not None and value is not False}


_RESOURCES: Mapping[str, Callable[[Any], Any]] = {
    "resources": _levels,
    "additionalResources": lambda several: list(map(_levels, several)),
}


def _reduced(value: Any) -> Any:
    if isinstance(value, dict):
        reduced = {name: _reduced(inner) for name, inner in value.items()}
        return {
            name: inner
            for name, inner in reduced.items()
            if inner not in (None, [], {}) and not (name in _DEFAULTS and inner == _DEFAULTS[name])
        }
    if isinstance(value, list):
        return [_reduced(inner) for inner in value]
    return value
