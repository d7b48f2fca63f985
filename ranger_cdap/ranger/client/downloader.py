"""Identity of the downloading plugin, as each download reports it for Ranger Admin's page of plugins."""

from __future__ import annotations

import enum
import socket
from typing import Final, Self

import msgspec

from ranger_cdap.ranger.client.versions import NO_VERSION, Versions

APP_ID: Final = "cdap"
"""The type of the plugin on Ranger's page of plugins, and the beginning of the names of its cache files."""
COMMANDS: Final = "ranger-cdap-commands"
"""Name on Ranger's page of plugins of commands that download policies where no plugin runs."""

_ANY_HOST: Final = "any-host"
_LONGEST_ID: Final = 255  # Ranger's column; Java's plugin cuts it there as well


class Capability(enum.IntEnum):
    """Plugin capabilities, each with its bit; names and bits are those of Ranger's `RangerPluginCapability`."""

    TAG_POLICIES = 0
    MASKING_AND_ROW_FILTERING = 1
    MACROS = 2
    AUDIT_MODE = 3
    RESOURCE_IS_VALID_LEAF = 4
    VALIDITY_PERIOD = 5
    POLICY_PRIORITY = 6
    SECURITY_ZONE = 7
    POLICY_LEVEL_CONDITION = 8
    DENY_ALL_ELSE_POLICY = 9
    ROLE = 10
    ROLE_DOWNLOAD_TIMER = 11
    AUDIT_EXCLUDED_USERS = 12
    CHAINED_PLUGINS = 13
    SUPERUSER_PERMISSIONS = 14
    USERSTORE_DOWNLOAD = 15
    AUDIT_POLICY = 16
    UGT_ATTRIBUTES_IN_POLICY = 17
    ADDITIONAL_RESOURCES_IN_POLICY = 18


# CDAP has no columns or rows to mask or filter, one plugin serves one service, and attributes of users, groups and tags
# are for expressions in JavaScript, which are evaluated in conditions only, and only with an extra.
NOT_OURS: Final = frozenset(
    {Capability.MASKING_AND_ROW_FILTERING, Capability.CHAINED_PLUGINS, Capability.UGT_ATTRIBUTES_IN_POLICY}
)


def capabilities() -> str:
    """Return the capabilities of this project's plugin: the sum of the bits in hexadecimal digits, as in Ranger."""
    return f"{sum(1 << one for one in Capability if one not in NOT_OURS):x}"


class Activations(msgspec.Struct, frozen=True):
    """Activation times of the documents, in milliseconds since 1970; 0 for never."""

    policies: int = 0
    roles: int = 0
    tags: int = 0
    users: int = 0

    def after(self, before: Versions, now: Versions, at: float) -> Self:
        """Return the activation times after a change of versions at a time, in seconds since 1970."""

        def since(kind: str) -> int:
            version = getattr(now, kind)
            if version == NO_VERSION:
                return 0
            return int(at * 1000) if version != getattr(before, kind) else getattr(self, kind)

        return type(self)(*map(since, self.__struct_fields__))


class Downloader(msgspec.Struct, frozen=True):
    """The downloading program: name in Ranger's list of plugins, cluster, and activation times."""

    plugin_id: str
    cluster_name: str = ""
    activations: Activations = Activations()

    @classmethod
    def here(cls, app_id: str, service: str, cluster_name: str = "") -> Self:
        """Return the downloader of this machine; Ranger interprets the part before `@` as its type.

        Ranger adds a row per type, host and service to its page of plugins, so commands of all hosts have one.
        """
        host = _ANY_HOST if app_id == COMMANDS else socket.gethostname()
        return cls(f"{app_id}@{host}-{service}"[:_LONGEST_ID], cluster_name)

    def query(self, activated_at: int) -> dict[str, str | int]:
        """Return the query parameters of a download, with the activation time of its document."""
        return {
            "lastActivationTime": activated_at,
            "pluginId": self.plugin_id,
            "clusterName": self.cluster_name,
            "pluginCapabilities": capabilities(),
        }
