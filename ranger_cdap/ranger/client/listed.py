"""Policies and roles of a service by REST, for its administrators, who may not download them as a plugin does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol

import msgspec

from ranger_cdap.errors import AccessForbidden, RangerAdminError
from ranger_cdap.ranger_model.download import SecurityZoneInfo

LISTED: Final = (
    "note: the account may not download policies, so they are listed: without tag policies and settings of the service"
)


class PolicyLister(Protocol):
    """The part of Ranger Admin's client that is used here."""

    def revoke_nothing(self, service: str, account: str) -> None:
        """Revoke nothing, which only an administrator of the service may."""

    def get_service_def(self, name: str) -> dict[str, Any] | None:
        """Return the service definition of that name."""

    def policy_documents(self, service: str) -> list[dict[str, Any]]:
        """Return the policies that the account sees."""

    def security_zones(self, service: str) -> dict[str, SecurityZoneInfo]:
        """Return the security zones of the service."""


def listed_policies(admin: PolicyLister, service: str, account: str, forbidden: AccessForbidden) -> bytes:
    """Return the policies as a download, which `forbidden` refused; without tag policies and settings of the service.

    Law: they are all policies of the service.

    Raises:
        AccessForbidden: the account is no administrator of the service, to whom alone Ranger lists all of them.
    """
    try:
        admin.revoke_nothing(service, account)
    except RangerAdminError:
        raise forbidden from None
    policies = admin.policy_documents(service)

    def of_zone(zone: str) -> Iterable[dict[str, Any]]:
        return [one for one in policies if (one.get("zoneName") or "") == zone]

    document = {
        "serviceName": service,
        "serviceDef": admin.get_service_def(next((one["serviceType"] for one in policies), "cdap")),
        "policies": of_zone(""),
        "securityZones": {
            name: {"zoneName": name, "resources": zone.resources, "policies": of_zone(name)}
            for name, zone in admin.security_zones(service).items()
        },
    }
    return msgspec.json.encode(document)
