"""A policy as Ranger Admin 2.9.0 would save it: its validator rewrites what it is sent. Pure.

Laws: Ranger's own validator makes the same of every policy that it accepts; what was saved twice stays as it is. A
downloaded policy is as it is, and never read so: a plugin of Ranger's takes `READ` for no right at all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from ranger_cdap.engine.view import fold, utf16_key
from ranger_cdap.errors import InvalidInput, PolicySetError
from ranger_cdap.ranger.changes.step import Json
from ranger_cdap.ranger_model.json_repair import shown
from ranger_cdap.ranger_model.json_text import Undecodable, decode
from ranger_cdap.ranger_model.service_def import MARKERS

_ITEM_LISTS: Final = (
    *("policyItems", "denyPolicyItems", "allowExceptions", "denyExceptions"),
    *("dataMaskPolicyItems", "rowFilterPolicyItems"),
)
_KINDS: Final = {"users": "user", "groups": "group", "roles": "role"}
_TIMES: Final = ("startTime", "endTime", "timeZone")
_STARTS: Final = ("minute", "hour", "dayOfMonth", "dayOfWeek", "month", "year")
_TRIMMED: Final = "".join(map(chr, range(33)))
_NOT_WHITE_IN_JAVA: Final = "\x85\xa0\u2007\u202f"


@dataclass(eq=False, slots=True)
class SavedPolicies:
    """Policies as Ranger Admin would save them, and what is then another one than was written."""

    _changes: dict[str, list[str]] = field(default_factory=dict)

    @property
    def changes(self) -> tuple[str, ...]:
        """Return what changed, as sentences without a stop, with the first policy of each."""
        counts = ((text, names[0], len(names) - 1) for text, names in self._changes.items())
        return tuple(f"{text}: policy `{name}`{f' and {more} more' if more else ''}" for text, name, more in counts)

    def of(self, policies: Iterable[Any], definition: Any) -> list[Any]:
        """Return the policies of a service with this definition, as they are after they were saved.

        Raises:
            InvalidInput: it is not certain what Ranger would save of one.
        """
        access_types = access_types_of(definition)
        return [self._settled(policy, access_types) if isinstance(policy, dict) else policy for policy in policies]

    def _settled(self, policy: Json, access_types: Collection[str]) -> Json:
        name = shown(str(policy.get("name")))
        try:
            saved, changes = as_saved(policy, access_types)
        except InvalidInput as e:
            raise InvalidInput(f"policy `{name}` cannot be used: {e}") from None
        for text in changes:
            self._changes.setdefault(text, []).append(name)
        return as_saved(saved, access_types)[0]  # of `read, READ` the first time two are left


def saved_download(download: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return a policy download whose policies are as Ranger Admin would save them, and what changed.

    Raises:
        PolicySetError: the download is unreadable.
        InvalidInput: it is not certain what Ranger would save of a policy.
    """
    saved = SavedPolicies()
    try:
        document = decode(download, Json)
        definition, tags = document.get("serviceDef"), document.get("tagPolicies")
        for holder in (document, *(document.get("securityZones") or {}).values()):
            holder["policies"] = saved.of(holder.get("policies") or (), definition)
        if tags:
            tags["policies"] = saved.of(tags.get("policies") or (), tags.get("serviceDef"))
    except (Undecodable, AttributeError, TypeError, RecursionError):
        raise PolicySetError("the downloaded policies cannot be read: not of the form of a download") from None
    return msgspec.json.encode(document) if saved.changes else download, saved.changes


def access_types_of(definition: Any) -> list[str]:
    """Return the names of the access types of a definition, as far as it has them."""
    found = definition.get("accessTypes") if isinstance(definition, dict) else None
    named = (one.get("name") for one in found if isinstance(one, dict)) if isinstance(found, list) else ()
    return [name for name in named if isinstance(name, str)]


def as_saved(policy: Json, access_types: Collection[str]) -> tuple[Json, tuple[str, ...]]:
    """Return a policy that Ranger accepts as it is after it was saved once, and what bears on access in that.

    `access_types` are those of the service definition. Parts that Ranger refuses are left as they are.

    Raises:
        InvalidInput: it is not certain what Ranger would save.
    """
    names = {fold(name): name for name in (*access_types, *MARKERS)}
    found, said = dict(policy), dict[str, None]()
    if isinstance(resources := policy.get("resources"), dict):
        found["resources"] = _levels(resources, said)
    rules: dict[str, Callable[[Json], Json]] = {
        "additionalResources": lambda one: _levels(one, said),
        **dict.fromkeys(_ITEM_LISTS, lambda one: _item(one, names, said)),
        "validitySchedules": _schedule,
    }
    found |= {
        name: [as_kept(one) if isinstance(one, dict) else one for one in rows]
        for name, as_kept in rules.items()
        if isinstance(rows := policy.get(name), list)
    }
    if isinstance(labels := policy.get("policyLabels"), list) and any(labels):
        found["policyLabels"] = sorted({label for label in labels if label and isinstance(label, str)}, key=utf16_key)
    return found, tuple(said)


def _levels(resources: Json, said: dict[str, None]) -> Json:
    found: Json = {}
    for level, written in resources.items():
        name = level.lower()
        if name != level:
            said[f"level `{shown(level)}` is saved as `{shown(name)}`"] = None
        if name in found:
            raise InvalidInput(
                f"it has the level `{shown(name)}` in two spellings, of which Ranger Admin would save one"
            )
        found[name] = written
        if isinstance(written, dict) and isinstance(values := written.get("values"), list):
            kept = [value for value in values if not _is_blank(value)]
            if len(kept) < len(values):
                said[f"a blank value of level `{shown(name)}` is not saved"] = None
            said |= dict.fromkeys(
                f"level `{shown(name)}` has `{shown(value)}` twice, which Ranger Admin rejects (3056)"
                for value, times in Counter(map(str, kept)).items()
                if times > 1
            )
            found[name] = {**written, "values": kept}
    return found


def _item(item: Json, names: Mapping[str, str], said: dict[str, None]) -> Json:
    found = dict(item)
    for members, kind in _KINDS.items():
        written = item.get(members)
        if isinstance(written, list) and all(isinstance(name, str) for name in written):
            found[members] = list(dict.fromkeys(name.strip(_TRIMMED) for name in written))
            said |= dict.fromkeys(
                f"{kind} `{shown(name)}` is saved as `{shown(saved)}`"
                for name in written
                if (saved := name.strip(_TRIMMED)) != name
            )
    if isinstance(accesses := item.get("accesses"), list):
        found["accesses"] = list(_accesses(accesses, names, said))
    return found


def _accesses(accesses: list[Any], names: Mapping[str, str], said: dict[str, None]) -> Iterable[Any]:
    seen = set[str]()
    for access in accesses:
        written = access.get("type") if isinstance(access, dict) else None
        if not isinstance(written, str):
            yield access
        elif written not in seen:
            saved = names.get(fold(written), written)
            if saved != written:
                said[f"access type `{shown(written)}` is saved as `{saved}`"] = None
            seen.add(saved)
            yield {**access, "type": saved}


def _schedule(schedule: Json) -> Json:
    found = {name: schedule[name] for name in _TIMES if schedule.get(name)}
    recurrences = schedule.get("recurrences")
    return {**found, "recurrences": list(map(_recurrence, recurrences))} if isinstance(recurrences, list) else found


def _recurrence(recurrence: Any) -> Any:
    """Return a recurrence with its numbers sorted as texts, without blanks."""
    if not isinstance(recurrence, dict) or not isinstance(starts := recurrence.get("schedule"), dict):
        return recurrence
    texts = {name: "".join(c for c in str(starts.get(name) or "") if not _is_white(c)) for name in _STARTS}
    kept = {name: ",".join(sorted(filter(None, text.split(",")))) for name, text in texts.items()}
    return {**recurrence, "schedule": {name: text for name, text in kept.items() if text}}


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and all(map(_is_white, value)))


def _is_white(c: str) -> bool:
    return c.isspace() and c not in _NOT_WHITE_IN_JAVA
