"""Stored documents with the fields the server adds, and their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import msgspec

from ranger_cdap.ranger_model.policy import PolicyResource
from ranger_cdap.testing.admin.model.documents import (
    AdminPolicy,
    AdminRole,
    AdminServiceDef,
    Group,
    Service,
    User,
    Zone,
    to_json_object,
)
from ranger_cdap.testing.admin.rules.grant_rules import matches

HIDDEN = "*****"
EXTERNAL = 1
"""`userSource` and `groupSource` of principals created along with a policy, service or role; 0: by an administrator."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """Fields the server adds to each document: id, version, authors, times (epoch ms); roles and zones have no guid."""

    id: int
    guid: str
    version: int
    created_by: str | None
    updated_by: str | None
    create_time: int
    update_time: int

    def fields(self, is_enabled: bool = True) -> dict[str, Any]:
        """Return the first fields of the JSON: no version without a guid, no author of documents the server created."""
        fields: dict[str, Any] = {"id": self.id, "isEnabled": is_enabled}
        if self.guid:
            fields |= {"guid": self.guid, "version": self.version}
        if self.created_by is not None:
            fields |= {"createdBy": self.created_by, "updatedBy": self.updated_by}
        return fields | {"createTime": self.create_time, "updateTime": self.update_time}


@dataclass(frozen=True, slots=True)
class StoredDefinition:
    """A service definition."""

    stamp: Stamp
    document: AdminServiceDef

    def to_json(self) -> dict[str, Any]:
        """Return Ranger's JSON."""
        body = to_json_object(self.document)
        mask = {"dataMaskDef": self.document.data_mask_def or {}, "rowFilterDef": self.document.row_filter_def or {}}
        return self.stamp.fields(self.document.is_enabled) | body | mask | {"id": self.stamp.id}


@dataclass(frozen=True, slots=True)
class StoredService:
    """A service, with the versions of its policies and tags."""

    stamp: Stamp
    document: Service
    policy_version: int
    policy_update_time: int
    tag_version: int
    tag_update_time: int

    @property
    def name(self) -> str:
        """The name."""
        return self.document.name

    def to_json(self) -> dict[str, Any]:
        """Return Ranger's JSON."""
        versions = {
            "policyVersion": self.policy_version,
            "policyUpdateTime": self.policy_update_time,
            "tagVersion": self.tag_version,
            "tagUpdateTime": self.tag_update_time,
        }
        return self.stamp.fields(self.document.is_enabled) | to_json_object(self.document) | versions


@dataclass(frozen=True, slots=True)
class StoredPolicy:
    """A policy; `listed` is its JSON in lists and downloads, without authors, times and signature."""

    stamp: Stamp
    signature: str
    listed: bytes

    @property
    def document(self) -> AdminPolicy:
        """The policy as a struct."""
        return msgspec.json.decode(self.listed, type=AdminPolicy)

    def to_json(self) -> dict[str, Any]:
        """Return Ranger's JSON for a single policy."""
        listed: dict[str, Any] = msgspec.json.decode(self.listed)
        return self.stamp.fields(listed["isEnabled"]) | listed | {"resourceSignature": self.signature}


def listed_policy(policy: AdminPolicy, *, policy_id: int, guid: str, version: int, service_type: str) -> bytes:
    """Return a policy's JSON in lists and downloads, which have neither authors nor times.

    Ranger answers the levels of a resource in the order of a Java hash map; here it is never that of the hierarchy.
    """
    fields = {"id": policy_id, "guid": guid, "version": version, "serviceType": service_type}
    levels = dict(sorted(policy.resources.items(), reverse=True))
    sent = msgspec.structs.replace(policy, resources=levels, created_by=None, updated_by=None, update_time=None)
    return msgspec.json.encode(to_json_object(sent) | fields)


@dataclass(frozen=True, slots=True)
class StoredUser:
    """A user; one without a password hash cannot sign in."""

    id: int
    owner: str | None
    create_time: int
    document: User
    groups: tuple[tuple[int, str], ...]

    def to_json(self) -> dict[str, Any]:
        """Return Ranger's JSON."""
        user = self.document
        names = {"firstName": user.first_name, "lastName": user.last_name} if user.first_name else {}
        return {
            "id": self.id,
            **dates(self.create_time, self.owner),
            "name": user.name,
            **names,
            "password": HIDDEN,
            "description": user.description or user.name,
            "groupIdList": [group_id for group_id, _ in self.groups],
            "groupNameList": [name for _, name in self.groups],
            "status": user.status,
            "isVisible": user.is_visible,
            "userSource": user.user_source,
            "userRoleList": user.user_role_list,
        }


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """A group."""

    id: int
    owner: str | None
    create_time: int
    document: Group

    def to_json(self) -> dict[str, Any]:
        """Return Ranger's JSON."""
        return {"id": self.id, **dates(self.create_time, self.owner)} | to_json_object(self.document)


@dataclass(frozen=True, slots=True)
class StoredMember:
    """A user's membership of a group."""

    id: int
    create_time: int
    group_id: int
    group: str
    user_id: int

    def to_json(self) -> dict[str, Any]:
        """Return Ranger's JSON."""
        return {
            "id": self.id,
            **dates(self.create_time, None),
            "name": self.group,
            "parentGroupId": self.group_id,
            "userId": self.user_id,
        }


@dataclass(frozen=True, slots=True)
class StoredRole:
    """A role."""

    stamp: Stamp
    document: AdminRole

    def to_json(self) -> dict[str, Any]:
        """Return Ranger's JSON."""
        return self.stamp.fields() | to_json_object(self.document) | {"id": self.stamp.id}


@dataclass(frozen=True, slots=True)
class StoredZone:
    """A zone with its stamp."""

    stamp: Stamp
    document: Zone

    @property
    def name(self) -> str:
        """The name."""
        return self.document.name

    def to_json(self) -> dict[str, Any]:
        """Return Ranger's JSON."""
        return self.stamp.fields() | to_json_object(self.document)

    def holds(self, service: str, resource: Mapping[str, list[str]]) -> bool:
        """Return whether the zone contains the whole resource."""
        return any(
            row.keys() <= resource.keys()
            and all(matches(PolicyResource(values=row[level]), value) for level in row for value in resource[level])
            for row in self.document.rows(service)
        )


def dates(create_time: int, owner: str | None) -> dict[str, Any]:
    """Return `createDate` and `updateDate` of a time in ms, and the author's display name."""
    text = datetime.fromtimestamp(create_time // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    dates: dict[str, Any] = {"createDate": text, "updateDate": text}
    return dates if owner is None else dates | {"owner": owner, "updatedBy": owner}
