"""The handshake with CDAP's extension: CDAP's settings, and where they differ from ours; it configures nothing."""

from __future__ import annotations

import logging
import threading

import msgspec

from ranger_cdap.authz.config import AuthorizationConfig

logger = logging.getLogger(__name__)

_SHOWN = 200


class Handshake(msgspec.Struct, forbid_unknown_fields=True):
    """The settings of CDAP, as the extension sends them; everything but its own version may be missing.

    `records`: whether it delivers a record of every request that CDAP answered.
    """

    extension: str
    cdap: str | None = None
    instance: str | None = None
    master_user: str | None = None
    admin_users: list[str] | None = None
    records: bool | None = None


class SettingsDrift:
    """Remembers what CDAP said last; logs a difference once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: tuple[str, ...] = ()

    @property
    def differences(self) -> tuple[str, ...]:
        """The differences of CDAP's last handshake from the settings."""
        with self._lock:
            return self._last

    def heard(self, found: tuple[str, ...]) -> None:
        """Remember them; new ones are logged."""
        with self._lock:
            new = [difference for difference in found if difference not in self._last]
            self._last = found
        for difference in new:
            logger.warning("%s", difference)


def differences(hello: Handshake, rules: AuthorizationConfig, admin_users: tuple[str, ...]) -> tuple[str, ...]:
    """The differences of CDAP's settings from ours, one sentence each; a missing setting is no difference."""
    said = [
        ("instance", hello.instance, rules.instance, "cdap.instance"),
        ("master user", hello.master_user, rules.master, "master.user"),
    ]
    found = [
        f"CDAP says that its {what} is `{theirs[:_SHOWN]}`, and `{setting}` here is `{ours}`; this setting counts"
        for what, theirs, ours, setting in said
        if theirs is not None and theirs != ours
    ]
    if hello.admin_users is not None and set(hello.admin_users) != set(admin_users):
        theirs, ours = ", ".join(sorted(set(hello.admin_users)))[:_SHOWN], ", ".join(sorted(admin_users))
        found.append(
            f"CDAP says that its administrators are `{theirs}`, and `admin.users` here is `{ours}`; this setting counts"
        )
    return tuple(found)
