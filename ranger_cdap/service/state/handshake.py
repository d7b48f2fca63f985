"""Handshake with CDAP's extension: CDAP's settings, and their differences from ours, which take effect."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field

import msgspec

from ranger_cdap.authz.config import AuthorizationConfig
from ranger_cdap.config import AdminSettings

logger = logging.getLogger(__name__)

_SHOWN = 200


class Handshake(msgspec.Struct, forbid_unknown_fields=True):
    """Settings of CDAP, sent by the extension; everything but its own version is optional.

    `records`: whether it delivers a record of every request that CDAP answered.
    """

    extension: str
    cdap: str | None = None
    instance: str | None = None
    master_user: str | None = None
    admin_users: list[str] | None = None
    records: bool | None = None


@dataclass(eq=False, slots=True)
class SettingsDrift:
    """Log of the differences of CDAP's settings from ours, each once."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: tuple[str, ...] = ()

    def update(self, found: tuple[str, ...]) -> None:
        """Remember the differences; log new ones."""
        with self._lock:
            new = [difference for difference in found if difference not in self._last]
            self._last = found
        for difference in new:
            logger.warning("%s", difference)


def differences(hello: Handshake, config: AuthorizationConfig, admin: AdminSettings) -> tuple[str, ...]:
    """Return the differences of CDAP's settings from ours, one sentence each; a missing setting is not one."""
    said = [
        ("instance", hello.instance, config.instance, "cdap.instance"),
        ("master user", hello.master_user, config.master, "master.user"),
    ]
    found = [
        f"CDAP's {what} is `{theirs[:_SHOWN]}`, but `{setting}` is `{ours}`; `{ours}` is used"
        for what, theirs, ours, setting in said
        if theirs is not None and theirs != ours
    ]
    if hello.admin_users is not None and set(hello.admin_users) != set(admin.users):
        theirs, ours = ", ".join(sorted(set(hello.admin_users)))[:_SHOWN], ", ".join(sorted(admin.users))
        found.append(f"CDAP's administrators are `{theirs}`, but `admin.users` is `{ours}`; `{ours}` is used")
    return tuple(found)
