"""Policies of a service as people keep them, without ids, versions and times, with all that deciding needs. Pure.

Law: a download, its collection and the download made of that collection decide alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, Self

import msgspec
from msgspec import structs

import servicedef
from ranger_cdap.cdap.grant import is_creators_policy
from ranger_cdap.errors import InvalidInput, PolicySetError
from ranger_cdap.ranger.changes.saved_policy import SavedPolicies
from ranger_cdap.ranger.changes.step import Json
from ranger_cdap.ranger.changes.transfer import policy_key
from ranger_cdap.ranger.files.written_policy import of_service, ordered
from ranger_cdap.ranger_model.decode import decode_service_policies
from ranger_cdap.ranger_model.document import Document
from ranger_cdap.ranger_model.download import SecurityZone
from ranger_cdap.ranger_model.json_text import Undecodable, convert, decode
from ranger_cdap.ranger_model.service_def import EXPRESSION, MARKERS, ServiceDef

_AUDIT_MODE: Final = "audit-default"
_CONFIG_PREFIX: Final = "ranger.plugin"
_STAMPS: Final = frozenset({"id", "guid", "version", "createTime", "updateTime", "createdBy", "updatedBy"})
_TAG_OPTION: Final = "enableTagBasedPolicies"
_ADDED_NAME: Final = b'"_'


class ZoneEntry(Document, forbid_unknown_fields=True):
    """A security zone: what it is made of; its policies name it."""

    resources: list[dict[str, list[str]]]
    contains_associated_tag_service: bool = False


class TagServiceEntry(Document, forbid_unknown_fields=True):
    """The linked tag service, without its policies."""

    service: str
    definition: Json | None = None
    config: dict[str, str] = msgspec.field(default_factory=dict)
    audit_mode: str = _AUDIT_MODE


class ServiceEntry(Document, forbid_unknown_fields=True):
    """The service that policies belong to; without `definition` it has the one of CDAP that is part of this package."""

    service: str = ""
    type: str = "cdap"
    definition: Json | None = None
    zones: dict[str, ZoneEntry] | None = None
    config: dict[str, str] = msgspec.field(default_factory=dict)
    audit_mode: str = _AUDIT_MODE
    tags: TagServiceEntry | None = None


@dataclass(frozen=True, slots=True)
class PolicyCollection:
    """A service with its policies, by zone and name, and those of its tag service."""

    service: ServiceEntry
    policies: tuple[Json, ...]
    tag_policies: tuple[Json, ...] = ()

    @classmethod
    def of_download(cls, download: bytes, *, keeps_definition: bool = False) -> Self:
        """Return the collection of a policy download; it may keep a definition that is known without it.

        Raises:
            PolicySetError: the download is unreadable, or has changes only.
            InvalidInput: a policy of it cannot be kept without its id: it has no name of its own, or is unreadable.
        """
        found = decode_service_policies(download)
        if found.policy_deltas and not found.policies:
            raise PolicySetError("it has only the changes of policies (a delta); download all policies")
        raw = decode(download)
        zones = {
            name: ZoneEntry(resources=z.resources, contains_associated_tag_service=z.contains_associated_tag_service)
            for name, z in found.security_zones.items()
        }
        outside = [{**_object(one), "zoneName": ""} for one in found.policies or ()]
        inside = [
            {**_object(one), "zoneName": name} for name, zone in found.security_zones.items() for one in zone.policies
        ]
        tags: TagServiceEntry | None = None
        tag_policies: tuple[Json, ...] = ()
        if found.tag_policies is not None:
            tags = TagServiceEntry(
                service=found.tag_policies.service_name,
                definition=_definition(raw["tagPolicies"].get("serviceDef")),
                config=_settings(found.tag_policies.service_config),
                audit_mode=found.tag_policies.audit_mode,
            )
            tag_policies = ordered(map(_object, found.tag_policies.policies))
        policies = ordered([*outside, *inside])
        definition = _definition(raw.get("serviceDef"))
        service = ServiceEntry(
            service=found.service_name,
            type=found.service_def.name if found.service_def is not None else "cdap",
            definition=None if not keeps_definition and _is_shipped(definition, policies) else definition,
            zones=zones if found.zones_known else None,
            config=_settings(found.service_config),
            audit_mode=found.audit_mode,
            tags=tags,
        )
        return cls(service, policies, tag_policies)

    @classmethod
    def of_document(cls, document: Any, chosen: str = "") -> Self:
        """Return the collection of an export: one document with all policies, a list of policies, or one policy.

        Of several services it is the `chosen` one.

        Raises:
            InvalidInput: it is not an export, or a policy of it is not acceptable, or it is open of which service.
        """
        if (
            isinstance(document, list)
            and document
            and all(isinstance(one, dict) and "resources" in one for one in document)
        ):
            document = {"policies": document}
        elif isinstance(document, dict) and "resources" in document:
            document = {"policies": [document]}
        if not isinstance(document, dict) or not isinstance(document.get("policies"), list):
            raise InvalidInput("the file holds no policies: it is not one of `ranger-cdap policies export`")
        service, tag_policies = service_entry(document.get("service", {})), document.get("tagPolicies", [])
        if not isinstance(tag_policies, list):
            raise InvalidInput("`tagPolicies` is not a list of policies")
        policies = of_service(document["policies"], chosen or service.service)
        if service.service not in ("", chosen or service.service):
            raise InvalidInput(f"the policies belong to service `{service.service}`, not to `{chosen}`")
        service = _completed(service, policies)
        return cls(service, ordered(policies), ordered(tag_policies)).checked()

    def document(self) -> Json:
        """Return the export: one document with all policies."""
        document: Json = {"policies": self.policies}
        if self.service != ServiceEntry():
            document["service"] = service_document(self.service)
        if self.tag_policies:
            document["tagPolicies"] = self.tag_policies
        return document

    def as_saved(self) -> tuple[Self, tuple[str, ...]]:
        """Return the collection with its policies as Ranger Admin would save them, and what changed.

        Raises:
            InvalidInput: it is not certain what Ranger would save of one.
        """
        saved, service = SavedPolicies(), self.service
        own = service.definition or (_shipped() if service.type == "cdap" else None)
        policies = saved.of(self.policies, own)
        tag_policies = saved.of(self.tag_policies, service.tags and service.tags.definition)
        return replace(self, policies=tuple(policies), tag_policies=tuple(tag_policies)), saved.changes

    def checked(self) -> Self:
        """Return the collection, if every zone and tag service that its policies need is described.

        Raises:
            InvalidInput: one is missing; the message has the policy.
        """
        zones = self.service.zones
        for policy in self.policies:
            zone = policy.get("zoneName", "")
            if zone and zones is not None and zone not in zones:
                raise InvalidInput(f"policy `{policy['name']}` is in zone `{zone}`, which the service does not have")
        if self.tag_policies and self.service.tags is None:
            raise InvalidInput(f"policy `{self.tag_policies[0]['name']}` is about a tag, but no tag service is named")
        return self

    def with_policies(self, documents: Iterable[Any]) -> Self:
        """Return the collection with these policies of the service, which Ranger Admin lists with all their members.

        Raises:
            InvalidInput: one cannot be kept without its id.
        """
        policies = ordered(documents)
        zones = {zone: ZoneEntry(resources=[]) for zone, _ in map(policy_key, policies) if zone}
        service = structs.replace(self.service, zones=zones | (self.service.zones or {}))
        return replace(self, service=service, policies=policies)

    def within(self, there: PolicyCollection, *, keeps_grants: bool = False) -> Self:
        """Return the collection in a service as it is there: `policies apply` changes policies only.

        What the collection does not say of the service is taken from there; if it `keeps_grants`, so are the grants of
        the sync job.

        Raises:
            InvalidInput: a policy is in a zone that the service does not have.
        """
        own, present, known = self.service, there.service, set(map(policy_key, self.policies))
        grants = filter(is_creators_policy, there.policies if keeps_grants else ())
        kept = [one for one in grants if policy_key(one) not in known]
        entry = structs.replace(
            own,
            definition=own.definition or (present.definition if own.type == present.type else None),
            zones=present.zones if own.zones is None else own.zones,
            config=own.config or present.config,
            tags=own.tags or present.tags,
        )
        tag_policies = self.tag_policies if own.tags else there.tag_policies
        return replace(self, service=entry, policies=(*self.policies, *kept), tag_policies=tag_policies).checked()

    def with_zones(self, zones: Iterable[SecurityZone], service_name: str) -> Self:
        """Return the collection with the zones of its service, which has this name if the collection names none.

        Raises:
            InvalidInput: the policies come with their zones, or one is in another zone.
        """
        service, tags, name = self.service, self.service.tags, self.service.service or service_name
        if service.zones is not None:
            raise InvalidInput("its policies come with their security zones; give no others")
        found = {
            zone.name: ZoneEntry(zone.services[name].resources, bool(tags and tags.service in zone.tag_services))
            for zone in zones
            if name in zone.services
        }
        return replace(self, service=structs.replace(service, zones=found)).checked()

    def without(self, left_out: Collection[tuple[str, str]]) -> Self:
        """Return the collection without the policies of these zones and names."""
        return replace(self, policies=tuple(one for one in self.policies if policy_key(one) not in left_out))

    def download(self, service_name: str = "") -> bytes:
        """Return a policy download, of the service of this name if the collection names none.

        Policies are numbered in order, first the service's, then those of tags.

        Policies of zones whose resources are not known leave open what they decide.

        Raises:
            InvalidInput: the definition of the service is unknown.
        """
        service = self.service
        if service.definition is None and service.type != "cdap":
            raise InvalidInput(f"the definition of service type `{service.type}` is missing: add it as `definition`")
        numbered = [{**policy, "id": number} for number, policy in enumerate(self.policies, 1)]
        document: Json = {
            "serviceName": service.service or service_name,
            "serviceDef": service.definition or _as_ranger_has_it(),
            "policies": [policy for policy in numbered if not policy.get("zoneName")],
            "serviceConfig": service.config,
            "auditMode": service.audit_mode,
        }
        zones = service.zones
        if zones is None:
            zones = {zone: ZoneEntry(resources=[]) for zone, _ in map(policy_key, self.policies) if zone}
            document["zonesKnown"] = not zones
        if zones:
            document["securityZones"] = {
                name: {
                    "zoneName": name,
                    **msgspec.to_builtins(zone),
                    "policies": [policy for policy in numbered if policy.get("zoneName") == name],
                }
                for name, zone in zones.items()
            }
        if tags := service.tags:
            document["tagPolicies"] = {
                "serviceName": tags.service,
                "serviceDef": tags.definition,
                "policies": [{**one, "id": number} for number, one in enumerate(self.tag_policies, len(numbered) + 1)],
                "serviceConfig": tags.config,
                "auditMode": tags.audit_mode,
            }
        return msgspec.json.encode(document)


def service_document(service: ServiceEntry) -> Json:
    """Return a service as it is written: with its type, and without what has its usual value."""
    found: Json = msgspec.to_builtins(service)
    for entry in (found, found.get("tags", {})):
        if entry.get("auditMode") == _AUDIT_MODE:
            del entry["auditMode"]
    return {**found, "type": service.type}


def service_entry(value: Any) -> ServiceEntry:
    """Convert a value to a service.

    Raises:
        InvalidInput: it is not one, or has a key that means nothing here.
    """
    return convert(value, ServiceEntry, lambda why: InvalidInput(f"the service is not acceptable: {why}"))


def _completed(service: ServiceEntry, policies: Iterable[Any]) -> ServiceEntry:
    """Return the service with the name and type that its policies have.

    Raises:
        InvalidInput: none of the policies can be about CDAP, and they do not say about what else.
    """
    objects = [one for one in policies if isinstance(one, dict)]
    names, kinds = ({str(one[key]) for one in objects if one.get(key)} for key in ("service", "serviceType"))
    if service.definition is None and kinds:
        service = structs.replace(service, type=min(kinds))
    levels = [{name.lower() for name in one["resources"]} for one in objects if isinstance(one.get("resources"), dict)]
    known = {level["name"] for level in _shipped()["resources"]}
    if service.definition is None and service.type == "cdap" and levels and not any(one <= known for one in levels):
        others = " and ".join(f"`{name}`" for name in sorted(set().union(*levels) - known))
        raise InvalidInput(f"its policies are not about CDAP, which has no {others}: add `type` and `definition`")
    return structs.replace(service, service=service.service or min(names, default=""))


def _object(raw: msgspec.Raw) -> Json:
    return decode(
        raw,
        dict[str, Any],
        lambda _: PolicySetError("the downloaded policies cannot be read: a policy is not a JSON object"),
    )


def _definition(value: Any) -> Json | None:
    if value is None:
        return None
    return {name: _without_nulls(inner) for name, inner in value.items() if name not in _STAMPS and inner is not None}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(inner) for name, inner in value.items() if inner is not None}
    return list(map(_without_nulls, value)) if isinstance(value, list) else value


def _is_shipped(definition: Json | None, policies: Iterable[Json]) -> bool:
    """Return whether a definition is CDAP's own, possibly with what Ranger adds to every one, which no policy names."""
    if definition is None or definition.get("name") != "cdap":
        return False
    try:
        theirs, ours = (convert(one, ServiceDef) for one in (definition, _shipped()))
    except Undecodable:
        return False
    named = {condition.name for condition in ours.policy_conditions}
    reduced = structs.replace(
        theirs,
        marker_access_types=ours.marker_access_types,
        policy_conditions=[
            one for one in theirs.policy_conditions if one.name in named or one.name != EXPRESSION["name"]
        ],
        options={name: text for name, text in theirs.options.items() if name != _TAG_OPTION or name in ours.options},
        data_mask_def=theirs.data_mask_def or None,
        row_filter_def=theirs.row_filter_def or None,
    )
    return reduced == ours and not any(_ADDED_NAME in msgspec.json.encode(policy) for policy in policies)


@cache
def _shipped() -> Json:
    return _definition(servicedef.service_definition()) or {}


@cache
def _as_ranger_has_it() -> Json:
    """Return CDAP's definition with what Ranger Admin adds to every one."""
    shipped = _shipped()
    implied = (
        [one["name"] for one in shipped["accessTypes"] if category in (None, one["category"])]
        for category in MARKERS.values()
    )
    markers = [{"name": name, "impliedGrants": names} for name, names in zip(MARKERS, implied, strict=True)]
    return {**shipped, "markerAccessTypes": markers, "policyConditions": [*shipped["policyConditions"], EXPRESSION]}


def _settings(config: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in config.items() if name.startswith(_CONFIG_PREFIX)}
