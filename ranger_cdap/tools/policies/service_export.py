"""The policies of a service in Ranger Admin, with its zones, tag policies and definition, at one moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from ranger_cdap.errors import AccessForbidden, ConflictingChange, NotReady
from ranger_cdap.ranger.changes.step import Json
from ranger_cdap.ranger.client.downloader import Downloader
from ranger_cdap.ranger.client.listed import LISTED, listed_policies
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin
from ranger_cdap.ranger.client.versions import NO_VERSION
from ranger_cdap.ranger.files.policy_collection import PolicyCollection
from ranger_cdap.ranger_model.decode import decode_service_policies

_ATTEMPTS: Final = 3


class _PolicyVersion(msgspec.Struct):
    """The part of a policy that tells whether it is the same."""

    id: int | None = None
    version: int | None = None


def read_service(
    admin: RangerAdmin, service: str, by: Downloader, account: str, report: Callable[[str], object]
) -> tuple[PolicyCollection, list[Json]]:
    """Return the policies of a service, and the documents they were made of.

    An account that may not download them gets those that Ranger lists; `report` then gets a note.

    Law: every policy that a plugin would get is among them, in the same version.

    Raises:
        AccessForbidden: the account does not see all policies; Ranger leaves the others out without saying so.
        ConflictingChange: the policies changed each time that they were read.
        NotReady: Ranger Admin has no policies of the service.
        InvalidInput: a policy cannot be kept without its id.
    """
    missing: set[Any] = set()
    for _ in range(_ATTEMPTS):
        try:
            download = admin.download_policies(service, last_known_version=NO_VERSION, by=by)
        except AccessForbidden as e:
            download = listed_policies(admin, service, account, e)
            report(LISTED)
        if download is None:
            raise NotReady(f"Ranger Admin has no policies of service `{service}`")
        documents = admin.policy_documents(service)
        effective = _policy_versions(download)
        if effective <= {(one.get("id"), one.get("version")) for one in documents}:
            return PolicyCollection.of_download(download).with_policies(documents), documents
        missing = {policy_id for policy_id, _ in effective} - {one.get("id") for one in documents}
    if missing:
        raise AccessForbidden(
            f"the account does not see all policies of service `{service}`: {len(missing)} are missing; "
            "use an administrator of Ranger or of the service"
        )
    raise ConflictingChange(f"the policies of service `{service}` changed each time they were read; try again")


def _policy_versions(download: bytes) -> set[tuple[Any, Any]]:
    found = decode_service_policies(download)
    raws = [*(found.policies or ()), *(raw for zone in found.security_zones.values() for raw in zone.policies)]
    stamps = (msgspec.json.decode(raw, type=_PolicyVersion) for raw in raws)
    return {(stamp.id, stamp.version) for stamp in stamps}
