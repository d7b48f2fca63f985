"""The content of one file: policies in any form, what accompanies them, or something else. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from ranger_cdap.errors import InvalidInput, PolicySetError
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.strict_text import YAML_SUFFIXES, parse_text
from ranger_cdap.ranger_model.decode import decode_roles, decode_service_tags, decode_user_store
from ranger_cdap.ranger_model.download import SecurityZone
from ranger_cdap.ranger_model.json_text import decode, decode_or_none
from ranger_cdap.ranger_model.tag import ServiceTags

_Members = dict[str, msgspec.Raw]
# msgspec learns a type at its first use; threads that do so at once can end the process, so it is done on import.
_members: Final = msgspec.json.Decoder(_Members)
_listed: Final = msgspec.json.Decoder(list[_Members])
_zones: Final = msgspec.json.Decoder(list[SecurityZone])
_zone: Final = msgspec.json.Decoder(SecurityZone)

_OF_DOWNLOAD: Final = ("serviceName", "serviceDef", "policyDeltas")
_OF_POLICIES: Final = frozenset({"policies", "serviceDef", "policyDeltas", "policyItems"})
ZONES: Final = "security zones"
_OTHERS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("rangerRoles", "roleVersion"), "roles"),
    **dict.fromkeys(("serviceResources", "tagVersion"), "tags"),
    **dict.fromkeys(("userGroupMapping", "userAttrMapping"), "users"),
    **dict.fromkeys(("services", "securityZones"), ZONES),
    "accessTypes": "a service definition",
    "configs": "a service without its policies",
    "msgDesc": "an error message of Ranger Admin",
}
"""Members of JSON objects that are no policies, and what these are."""


def whole_tags(content: bytes) -> ServiceTags:
    """Decode a tag download.

    Raises:
        PolicySetError: it is not readable, or has changes only.
    """
    tags = decode_service_tags(content)
    if tags.is_delta:
        raise PolicySetError("it has only the changes of tags (a delta); download all tags")
    return tags


_DECODERS: Final[Mapping[str, Callable[[bytes], object]]] = {
    "roles": decode_roles,
    "tags": whole_tags,
    "users": decode_user_store,
    ZONES: lambda content: zones_of(content),
}
"""What may accompany policies."""


def policies_of(content: bytes, suffix: str, service: str = "") -> bytes | PolicyCollection:
    """Return the policies in a file's content: a policy download as it is, or the collection of another form.

    `suffix` is that of the file's name: `.yaml` and `.yml` are YAML, others JSON. With `service` they are those of the
    service of this name.

    Raises:
        InvalidInput: it has no policies that can be used, or not of that service.
    """
    members = None if suffix.lower() in YAML_SUFFIXES else decode_or_none(content, _members)
    if members is not None and (other := _other(members)):
        raise InvalidInput(f"it has {other}, no policies")
    if members is None or not any(name in members for name in _OF_DOWNLOAD):
        return PolicyCollection.of_document(parse_text(content, suffix), service)
    named = decode_or_none(members.get("serviceName", b'""'))
    if service and named not in (None, "", service):
        raise InvalidInput(f"the policies belong to service `{named}`, not to `{service}`")
    return content


def accompanying(content: bytes) -> tuple[str, bytes]:
    """Return the kind of a document that may accompany policies, with the document.

    Raises:
        PolicySetError: it is no such document.
    """
    listed = decode_or_none(content, _listed)
    kinds = set(map(_other, [decode_or_none(content, _members) or {}] if listed is None else listed))
    if not kinds <= _DECODERS.keys() or (listed is not None and kinds != {ZONES}):
        what = ": it has " + " and ".join(kinds) if any(kinds) else ""
        raise PolicySetError(f"it is no download of roles, tags or users, nor a list of security zones{what}")
    kind = kinds.pop()
    _DECODERS[kind](content)
    return kind, content


def zones_of(content: bytes) -> list[SecurityZone]:
    """Decode security zones as Ranger Admin's REST returns them: a list, a page of it, or one zone.

    Raises:
        PolicySetError: it is none of these.
    """
    listed: Any = (decode_or_none(content, _members) or {}).get("securityZones", content)
    if (zones := decode_or_none(listed, _zones)) is not None:
        return zones
    return [decode(content, _zone, lambda why: PolicySetError(f"the security zones cannot be read: {why}"))]


def _other(members: _Members) -> str:
    """Return what an object without policies is; empty if that is not known."""
    if not _OF_POLICIES.isdisjoint(members):
        return ""
    return next((what for name, what in _OTHERS.items() if name in members), "")
