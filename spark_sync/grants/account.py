"""The account of the sync job in Ranger Admin."""

from __future__ import annotations

from ranger_cdap.config import Settings
from ranger_cdap.policies.client.ranger_admin import RangerAdmin


def ranger_admin(settings: Settings) -> RangerAdmin:
    """Ranger Admin as `sync.username`; nothing is sent yet.

    Raises:
        ConfigError: the address or a file of certificates can't be used.
    """
    return RangerAdmin.connect(settings.ranger, settings.sync.username, settings.sync.password)
