"""Policies and roles of a service by REST, for its administrators, who may not download them as a plugin does."""

from __future__ import annotations

from typing import Final

import msgspec

from ranger_cdap.errors import AccessForbidden, RangerAdminError
from ranger_cdap.keyed import grouped
from ranger_cdap.ranger.client.ranger_admin import RangerAdmin

LISTED: Final = (
    "note: the account may not download policies, so they are listed: without tag policies and settings of the service"
)


def listed_policies(admin: RangerAdmin, service: str, account: str, forbidden: AccessForbidden) -> bytes:
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
    of_zone = grouped((one.get("zoneName") or "", one) for one in policies)
    document = {
        "serviceName": service,
        "serviceDef": admin.get_service_def(next((one["serviceType"] for one in policies), "cdap")),
        "policies": of_zone.get("", []),
        "securityZones": {
            name: {"zoneName": name, "resources": zone.resources, "policies": of_zone.get(name, [])}
            for name, zone in admin.security_zones(service).items()
        },
    }
    return msgspec.json.encode(document)
