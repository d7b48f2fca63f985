"""Tags, and the document in which they are uploaded and downloaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ranger_cdap.ranger_model.document import Document, JavaLong, Version
from ranger_cdap.ranger_model.policy import PolicyResource
from ranger_cdap.ranger_model.schedule import ValiditySchedule


class Tag(Document):
    """A tag on resources."""

    id: JavaLong | None = None
    guid: str = ""
    type: str = ""
    attributes: dict[str, str] = {}
    validity_periods: list[ValiditySchedule] = []


class ServiceResource(Document):
    """A resource that carries tags; its `id` is a number within one document."""

    id: JavaLong | None = None
    guid: str = ""
    resource_elements: dict[str, PolicyResource] = {}


class ServiceTags(Document):
    """The tagged resources of a service, their tags, and the ids of the tags each resource carries."""

    service_name: str = ""
    tag_version: Version = -1
    op: str = "add_or_update"
    is_delta: bool = False
    tags: Mapping[str, Tag] = {}
    service_resources: Sequence[ServiceResource] = []
    resource_to_tag_ids: dict[str, list[JavaLong]] = {}
