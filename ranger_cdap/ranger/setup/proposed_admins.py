"""Administrators that CDAP proposes, by a property of `cdap-site.xml`, and those whom the settings accept.

The decision service keeps the last proposal next to the cached policies; `setup` and `doctor` read it. A proposal alone
does nothing: only users whom `admin.from_cdap` names are accepted, and `setup` shows them before it changes Ranger.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec

from ranger_cdap.cdap.grant import check_grantee
from ranger_cdap.config import Settings
from ranger_cdap.disk import replace_file
from ranger_cdap.errors import UnsafeGrant
from ranger_cdap.ranger.changes.setup_rights import recorded
from ranger_cdap.ranger.refresh.cache import PolicyCache
from ranger_cdap.ranger.setup.setup_policies import instance_policies
from ranger_cdap.ranger.setup.setup_state import DesiredState
from ranger_cdap.ranger_model.json_text import Undecodable, decode
from ranger_cdap.ranger_model.policy import Policy

ANYONE: Final = "*"
_MOST: Final = 100
"""Longest proposal that is considered; a longer one is refused as a whole."""
_LARGEST_FILE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class AdminProposal:
    """Users whom CDAP names, accepted or not in the settings at all; not `known`: no proposal can be read here."""

    accepted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    known: bool = True


def review(settings: Settings, names: Iterable[str]) -> AdminProposal:
    """Return which proposed users `admin.from_cdap` accepts: plain user names only, and no account of ours."""
    proposed = tuple(dict.fromkeys(names))
    allowed = settings.admin.from_cdap if len(proposed) <= _MOST else ()
    accounts = {
        settings.master.name,
        settings.plugin.username,
        settings.sync.username,
        settings.service.bridge_username,
    }
    accepted = tuple(name for name in proposed if _is_allowed(name, allowed) and _is_user(name, accounts))
    there = {*accepted, *settings.admin.users}
    return AdminProposal(accepted, tuple(name for name in proposed if name not in there))


def save_proposal(settings: Settings, names: Iterable[str]) -> bool:
    """Keep the last proposal for `setup`; return whether it is a new one.

    Raises:
        OSError: the disk fails.
    """
    proposed, path = sorted(set(names))[: _MOST + 1], _file(settings)
    if _read(path) == proposed:
        return False
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, [msgspec.json.encode(proposed)])
    return True


def read_proposal(settings: Settings) -> AdminProposal:
    """Return the last proposal of CDAP to the decision service with this cache directory."""
    names = _read(_file(settings))
    return AdminProposal(known=False) if names is None else review(settings, names)


def desired_state(settings: Settings, policies: Sequence[Policy]) -> DesiredState:
    """Return the desired state of the settings, with the accepted users of the proposal.

    Where no proposal can be read, the accepted users are those to whom `setup` gave rights in these policies before.
    """
    wanted = DesiredState.of(settings)
    if not settings.admin.from_cdap:
        return wanted
    proposal = read_proposal(settings)
    if not proposal.known:
        before = (recorded(policy) for policy in instance_policies(policies, settings.cdap.instance))
        proposal = review(settings, (holder.name for some in before for holder in some if holder.kind == "user"))
    return replace(wanted, admin_users=tuple(dict.fromkeys((*wanted.admin_users, *proposal.accepted))))


def _is_allowed(name: str, allowed: Collection[str]) -> bool:
    return name in allowed or ANYONE in allowed


def _is_user(name: str, accounts: Collection[str]) -> bool:
    try:
        check_grantee(name, non_creators=accounts)
    except UnsafeGrant:
        return False
    return True


def _file(settings: Settings) -> Path:
    plugin = settings.plugin
    cache = PolicyCache(plugin.cache_dir, settings.ranger.service, report=lambda problem: None)
    return cache.path("_proposed_admins")


def _read(path: Path) -> list[str] | None:
    """Return the names in a file that only the user of the decision service can have written, else None."""
    with suppress(OSError, UnicodeError, Undecodable):
        owner = path.parent.stat()
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            status = os.fstat(file.fileno())
            others_write = (status.st_mode | owner.st_mode) & (stat.S_IWGRP | stat.S_IWOTH)
            if stat.S_ISREG(status.st_mode) and status.st_uid == owner.st_uid and not others_write:
                return decode(file.read(_LARGEST_FILE), list[str])
    return None
