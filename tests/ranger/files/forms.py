"""The forms in which the same policies come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import servicedef
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger.files.policy_directory import write_directory
from ranger_cdap.ranger.files.policy_file import policies_of
from ranger_cdap.ranger.files.strict_text import write_json, write_yaml
from ranger_cdap.ranger_model.json_text import convert
from ranger_cdap.testing.admin.model.documents import AdminServiceDef
from ranger_cdap.testing.admin.rules.definitions import complete

Json = dict[str, Any]


def collection_of(content: bytes, suffix: str, service: str = "") -> PolicyCollection:
    """The policies of a file's content without their ids."""
    found = policies_of(content, suffix, service)
    return found if isinstance(found, PolicyCollection) else PolicyCollection.of_download(found)


def download_of(content: bytes, suffix: str, service: str = "") -> bytes:
    """The policies of a file's content as a download."""
    found = policies_of(content, suffix, service)
    return found.download(service) if isinstance(found, PolicyCollection) else found


def ranger_definition() -> Json:
    """CDAP's definition as Ranger Admin has it, with what it adds."""
    ours = convert(servicedef.service_definition(), AdminServiceDef)
    found: Json = msgspec.json.decode(msgspec.json.encode(complete(ours)))
    return found


def written(folder: Path, policies: Sequence[Json], zones: Mapping[str, Json], service: str) -> dict[str, str]:
    """Write policies in every form, and return how a person names each; those of one zone name it.

    Policies are numbered in the order in which a file without numbers has them.
    """
    policies = sorted(policies, key=lambda one: (one.get("zoneName", ""), one["name"]))
    policies = [{**one, "id": number} for number, one in enumerate(policies, 1)]
    zoned = {
        name: {
            "zoneName": name,
            "resources": [zone],
            "policies": [one for one in policies if one.get("zoneName") == name],
        }
        for name, zone in zones.items()
    }
    download = {
        "serviceName": service,
        "serviceDef": ranger_definition(),
        "policies": [one for one in policies if not one.get("zoneName")],
        "securityZones": zoned,
    }
    stamps = {"guid": "g", "version": 7, "createdBy": "Admin", "isEnabled": True, "policyLabels": [], "description": ""}
    rest = [{**stamps, **one, "service": service, "serviceType": "cdap"} for one in policies]
    hive = {"name": "hive", "service": "hiveprod", "serviceType": "hive", "resources": {"database": {"values": ["*"]}}}
    listed = [
        {"name": name, "services": {service: {"resources": [zone]}, "hiveprod": {"resources": []}}, "tagServices": []}
        for name, zone in zones.items()
    ]
    collection = PolicyCollection.of_download(msgspec.json.encode(download))
    contents = {
        "download.json": msgspec.json.encode(download),
        "export.json": write_json(collection.document()),
        "export.yaml": write_yaml(collection.document()),
        "list.json": msgspec.json.encode(rest),
        "form.json": msgspec.json.encode({"metaDataInfo": {"Host name": "h"}, "policies": [*rest, hive]}),
        "zones.json": msgspec.json.encode(listed),
        "zone-page.json": msgspec.json.encode({"startIndex": 0, "securityZones": listed}),
    }
    if len(rest) == 1:
        contents["one.json"] = msgspec.json.encode(rest[0])
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    write_directory(folder / "json", collection, "json")
    write_directory(folder / "yaml", collection, "yaml")
    bare = ["list.json", *(["one.json"] if len(rest) == 1 else [])]
    found = {name: str(folder / name) for name in ("download.json", "export.json", "export.yaml", "json", "yaml")}
    found |= {name: f"{folder / name},{folder / 'zones.json'}" for name in bare}
    found["form.json"] = f"{folder / 'form.json'},service={service},{folder / 'zone-page.json'}"
    return found
