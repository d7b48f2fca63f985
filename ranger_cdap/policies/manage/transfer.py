"""Export of policies to a file, and the steps of an import. Pure.

Policies are identified by name and zone; ids, versions, times and authors are not transferred. Nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

import msgspec

from ranger_cdap.errors import InvalidInput

Json = dict[str, Any]

# Fields of a policy that Ranger Admin sets.
_OF_THE_SERVER = frozenset(
    {
        *("id", "guid", "version", "createTime", "updateTime", "createdBy", "updatedBy"),
        *("resourceSignature", "service", "serviceType"),
    }
)
# Ranger's defaults of missing members.
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


class TransferAction(Enum):
    """Action of an import on a policy."""

    CREATE = "create"
    UPDATE = "update"
    KEEP = "keep"
    EXTRA = "extra"


@dataclass(frozen=True, slots=True)
class Step:
    """A policy of the file or of the service, the action, and the members that differ."""

    change: TransferAction
    name: str
    zone: str
    differs: tuple[str, ...] = ()
    wanted: Json | None = None
    there: Json | None = None

    def __str__(self) -> str:
        where = f" in zone `{self.zone}`" if self.zone else ""
        what = {
            TransferAction.EXTRA: "is not in the file",
            TransferAction.UPDATE: f"differs in {', '.join(self.differs)}",
        }
        details = f": {what[self.change]}" if self.change in what else ""
        return f"{self.change.value} policy `{self.name}`{where}{details}"


def portable(policy: Mapping[str, Any]) -> Json:
    """Return the transferred part of a policy: all editable members, without defaults."""
    kept = {name: value for name, value in policy.items() if name not in _OF_THE_SERVER}
    reduced: Json = _reduced({name: value for name, value in kept.items() if name not in _RESOURCES})
    for name, read in _RESOURCES.items():
        if kept.get(name):
            reduced[name] = read(kept[name])
    return reduced


def to_file(policies: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the file of a service's policies, sorted by zone and name, so that files can be compared line by line."""
    travelling = sorted(
        map(portable, policies), key=lambda policy: (policy.get("zoneName", ""), policy.get("name", ""))
    )
    return msgspec.json.format(msgspec.json.encode({"policies": travelling}, order="sorted"), indent=2) + b"\n"


def from_file(content: bytes) -> list[Json]:
    """Parse the policies of a file.

    Raises:
        InvalidInput: it is not an export, or two policies have the same name.
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
    """Return the steps from a service's policies to those of a file, and the policies missing in the file."""
    known = {_key(policy): policy for policy in there}
    steps = []
    for policy in wanted:
        zone, name = _key(policy)
        present = known.pop((zone, name), None)
        differs = _differing(policy, portable(present)) if present is not None else ()
        change = TransferAction.CREATE if present is None else TransferAction.UPDATE if differs else TransferAction.KEEP
        steps.append(Step(change, name, zone, differs, policy, present))
    return (*steps, *(Step(TransferAction.EXTRA, name, zone, there=policy) for (zone, name), policy in known.items()))


def body(step: Step, service: str) -> Json:
    """Return the policy to send: the one of the file, with the server's fields of the existing one."""
    kept = {name: value for name, value in (step.there or {}).items() if name in _OF_THE_SERVER}
    return {**kept, **(step.wanted or {}), "service": service}


def _key(policy: Mapping[str, Any]) -> tuple[str, Any]:
    return policy.get("zoneName") or "", policy.get("name")


def _differing(one: Json, other: Json) -> tuple[str, ...]:
    return tuple(sorted(name for name in {*one, *other} if one.get(name) != other.get(name)))


def _levels(resources: Any) -> Any:
    """Return a resource unreduced, because a level without values matches everything."""
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
