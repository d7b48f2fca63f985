"""Policies whose validity ended for good, left out where access is reviewed: they decide nothing at any later time."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec.structs import replace

from ranger_cdap.engine.view import compile_schedules
from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger.refresh.documents import Documents, pieces
from ranger_cdap.ranger_model.decode import UnreadablePolicy, decode_policy
from ranger_cdap.ranger_model.json_text import UNREADABLE, decode

_POLICIES = "policies"
_ZONES = "securityZones"
_TAGS = "tagPolicies"

_Members = dict[str, msgspec.Raw]
_zones: Final[msgspec.json.Decoder[_Members | None]] = msgspec.json.Decoder(_Members | None)
_policies: Final[msgspec.json.Decoder[list[msgspec.Raw] | None]] = msgspec.json.Decoder(list[msgspec.Raw] | None)


def without_ended(documents: Documents, now: int) -> Documents:
    """Return the documents without policies that ended before `now` (epoch milliseconds); the same if there are none.

    A policy whose validity cannot be read stays, and a document of an unexpected shape stays as it is.
    """
    text = b"".join(pieces(documents.policies))
    try:
        found = _pruned(text, now)
    except UNREADABLE:
        return documents
    return documents if found is None else replace(documents, policies=found)


def _pruned(text: bytes, now: int) -> bytes | None:
    """Return a document without ended policies, in it, its zones and its tag policies; None if nothing has ended."""
    members = decode(text, _Members)
    changed: _Members = {}
    if (kept := _kept(members.get(_POLICIES), now)) is not None:
        changed[_POLICIES] = kept
    if (tags := _inner(members.get(_TAGS), now)) is not None:
        changed[_TAGS] = tags
    zones = decode(members.get(_ZONES, b"null"), _zones) or {}
    pruned = {name: found for name, zone in zones.items() if (found := _inner(zone, now)) is not None}
    if pruned:
        changed[_ZONES] = msgspec.Raw(msgspec.json.encode({**zones, **pruned}))
    return msgspec.json.encode({**members, **changed}) if changed else None


def _inner(raw: msgspec.Raw | None, now: int) -> msgspec.Raw | None:
    if raw is None or bytes(raw) == b"null":
        return None
    found = _pruned(bytes(raw), now)
    return None if found is None else msgspec.Raw(found)


def _kept(raw: msgspec.Raw | None, now: int) -> msgspec.Raw | None:
    """Return the list without its ended policies; None if it has none."""
    policies = decode(raw or b"null", _policies) or []
    kept = [policy for policy in policies if not _ended(policy, now)]
    return None if len(kept) == len(policies) else msgspec.Raw(msgspec.json.encode(kept))


def _ended(raw: msgspec.Raw, now: int) -> bool:
    try:
        schedules = compile_schedules(decode_policy(raw).validity_schedules, lenient=False)
    except (UnreadablePolicy, PolicySetError):
        return False
    return bool(schedules) and all(0 < schedule.end < now for schedule in schedules)
