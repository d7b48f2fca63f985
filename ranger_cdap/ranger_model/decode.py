"""Decoding of downloads and policies, as lenient as Ranger is.

Unknown keys are ignored, a field that is `null` is the same as a missing one, numbers and booleans may come as text
(ranger-semantics.md §1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from ranger_cdap.errors import PolicySetError
from ranger_cdap.ranger_model.document import Document
from ranger_cdap.ranger_model.download import AuditFilter, ServicePolicies, UserStore
from ranger_cdap.ranger_model.json_repair import repaired, shown, unreadable_parts, without_any_null
from ranger_cdap.ranger_model.json_text import UNREADABLE, T, Undecodable, convert, decode, decode_or_none, why
from ranger_cdap.ranger_model.policy import Policy, PolicyResource
from ranger_cdap.ranger_model.role import RangerRoles
from ranger_cdap.ranger_model.tag import ServiceTags

_ID = re.compile(r"0|-?[1-9][0-9]{0,18}")
# msgspec learns a type at its first use; threads that do so at once can end the process, so it is done on import.
_LEARNT = [
    msgspec.json.Decoder(kind) for kind in (ServicePolicies, RangerRoles, ServiceTags, UserStore, Policy, AuditFilter)
]


class _ZoneResources(Document):
    resources: Any = None


class _ZonesOnly(Document):
    security_zones: dict[str, _ZoneResources] = {}


class UnreadablePolicy(PolicySetError):
    """A policy that cannot be decoded; `parts` holds path and reason of each unreadable part."""

    def __init__(self, parts: Iterable[tuple[str, str]]) -> None:
        self.parts = tuple((place, f"it cannot be read: {reason}") for place, reason in parts)
        super().__init__("; ".join(f"{place}: {message}" if place else message for place, message in self.parts))


def decode_service_policies(data: bytes) -> ServicePolicies:
    """Decode the envelope of a policy download; its policies stay undecoded.

    Raises:
        PolicySetError: the envelope is not readable, or it is no delta and has a zone without a list of resources.
    """
    policies = _decode(data, ServicePolicies, "the downloaded policies")
    is_delta = policies.policy_deltas is not None and not policies.policies
    if not is_delta and not all(zone.resources for zone in policies.security_zones.values()):
        for name, zone in _decode(data, _ZonesOnly, "the downloaded policies").security_zones.items():
            if zone.resources is None:
                raise PolicySetError(
                    f"the downloaded policies cannot be read: security zone `{shown(name)}` has no `resources`"
                )
    return policies


def decode_roles(data: bytes) -> RangerRoles:
    """Decode a role download. Raises PolicySetError where it is not readable."""
    return _decode(data, RangerRoles, "the downloaded roles")


def decode_service_tags(data: bytes) -> ServiceTags:
    """Decode a tag download. Raises PolicySetError where it is not readable."""
    tags = _decode(data, ServiceTags, "the downloaded tags")
    for key in (*tags.tags, *tags.resource_to_tag_ids):
        if not (_ID.fullmatch(key) and -(2**63) <= int(key) < 2**63):
            raise PolicySetError(
                f"the downloaded tags cannot be read: `{shown(key)}` is not the id of a tag or resource"
            )
    return tags


def decode_user_store(data: bytes) -> UserStore:
    """Decode a user store download. Raises PolicySetError where it is not readable."""
    return _decode(data, UserStore, "the downloaded users")


def decode_policy(raw: msgspec.Raw | bytes, *, lenient: bool = True) -> Policy:
    """Decode one policy; `lenient` drops every null, as Ranger does, else only those of fields.

    Raises:
        UnreadablePolicy: it is not readable.
    """
    if (policy := decode_or_none(raw, Policy)) is not None:
        return policy
    try:
        known = decode(raw)
        return convert_policy(without_any_null(known) if lenient else known)
    except UNREADABLE as e:
        raise UnreadablePolicy([("", why(e))]) from None


def convert_policy(known: Any) -> Policy:
    """Convert decoded JSON to a policy. Raises UnreadablePolicy with each part that is not readable."""
    try:
        return convert(repaired(known, Policy), Policy)
    except UNREADABLE:
        raise UnreadablePolicy(unreadable_parts(known, Policy)) from None


def convert_resource(known: Any) -> PolicyResource | None:
    """Convert decoded JSON to one level of a resource; None where it is not readable."""
    try:
        return convert(repaired(known, PolicyResource), PolicyResource)
    except UNREADABLE:
        return None


def _decode(data: bytes | msgspec.Raw, type_: type[T], what: str) -> T:
    try:
        return decode(data, type_)
    except Undecodable:
        # Second reading: nulls, and numbers or booleans in quotes, cost this only where they occur.
        try:
            return decode(msgspec.json.encode(repaired(decode(data), type_)), type_)
        except UNREADABLE as e:
            raise PolicySetError(f"{what} cannot be read: {shown(why(e))}") from None
