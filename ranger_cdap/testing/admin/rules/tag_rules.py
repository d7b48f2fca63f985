"""Upload and download of a service's tags as pure functions."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from ranger_cdap.testing.admin.model.documents import AdminTag, AdminTaggedResource, TagDef, TagUpload, to_json_object

ADD, DELETE, REPLACE = "add_or_update", "delete", "replace"
OPERATIONS: dict[str, str] = {ADD: ADD, "set": ADD, DELETE: DELETE, REPLACE: REPLACE}
"""Operation names of uploads: those of Ranger's tagsync, and `set` of `public/v2`."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """A resource with its tags."""

    resource: AdminTaggedResource
    tags: tuple[AdminTag, ...]


@dataclass(frozen=True, slots=True)
class KeptTags:
    """The tags of a service."""

    definitions: tuple[TagDef, ...] = ()
    carriers: tuple[Carrier, ...] = ()


def uploaded(kept: KeptTags, sent: TagUpload, operation: str) -> KeptTags:
    """Return the tags after an upload.

    `add_or_update` replaces the tags of each resource with listed tags; `replace` also removes all other resources.
    """
    if operation == DELETE:
        return KeptTags(kept.definitions, _without(kept.carriers, sent.service_resources))
    known = {definition.name for definition in kept.definitions}
    new = (definition for definition in sent.tag_definitions.values() if definition.name not in known)
    others = () if operation == REPLACE else _without(kept.carriers, sent.service_resources)
    changed = (_carrier(sent, resource, kept.carriers) for resource in sent.service_resources)
    numbered = (
        Carrier(msgspec.structs.replace(carrier.resource, id=number), carrier.tags)
        for number, carrier in enumerate((*others, *changed), 1)
    )
    return KeptTags((*kept.definitions, *new), tuple(numbered))


def _carrier(sent: TagUpload, resource: AdminTaggedResource, before: Iterable[Carrier]) -> Carrier:
    old = next((carrier for carrier in before if _same(carrier.resource, resource)), None)
    elements = resource.resource_elements or (old.resource.resource_elements if old else {})
    guid = old.resource.guid if old else resource.guid or str(uuid.uuid4())
    ids = sent.resource_to_tag_ids.get(str(resource.id))
    listed = tuple(sent.tags[str(number)] for number in ids or ())
    tags = old.tags if old is not None and ids is None else listed
    return Carrier(msgspec.structs.replace(resource, guid=guid, resource_elements=elements), tags)


def _without(carriers: Iterable[Carrier], gone: list[AdminTaggedResource]) -> tuple[Carrier, ...]:
    return tuple(carrier for carrier in carriers if not any(_same(carrier.resource, resource) for resource in gone))


def _same(one: AdminTaggedResource, other: AdminTaggedResource) -> bool:
    """Compare by guid, or by the values of all levels in any order."""
    has_same_guid = bool(other.guid) and one.guid == other.guid
    return has_same_guid or (bool(other.resource_elements) and _content(one) == _content(other))


def _content(resource: AdminTaggedResource) -> dict[str, Any]:
    return {
        level: (frozenset(values.values), values.is_excludes, values.is_recursive)
        for level, values in resource.resource_elements.items()
    }


def downloaded(kept: KeptTags) -> dict[str, Any]:
    """Return the tags of a download; each tag appears once, however many resources carry it."""
    tags: dict[bytes, tuple[int, AdminTag]] = {}
    carried: dict[str, list[int]] = {}
    for carrier in kept.carriers:
        for tag in carrier.tags:
            content = msgspec.json.encode(msgspec.structs.replace(tag, id=None, guid=""), order="deterministic")
            number, _ = tags.setdefault(content, (len(tags) + 1, tag))
            carried.setdefault(str(carrier.resource.id), []).append(number)
    answer: Mapping[str, Any] = {
        "tagDefinitions": {str(n): _shown(row, n) for n, row in enumerate(kept.definitions, 1)},
        "tags": {str(number): _shown(tag, number) for number, tag in tags.values()},
        "serviceResources": [to_json_object(carrier.resource) for carrier in kept.carriers],
        "resourceToTagIds": carried,
    }
    return {name: value for name, value in answer.items() if value}


def _shown(row: AdminTag | TagDef, number: int) -> dict[str, Any]:
    return to_json_object(row) | {"id": number}
