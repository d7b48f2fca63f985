"""Users that run the decision service and the sync job, derived from the owners of their directories."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ranger_cdap.config import Location, Settings
from ranger_cdap.config.secret_files import Program
from ranger_cdap.directory.account_name import account_name

ROOT = 0


@dataclass(frozen=True, slots=True)
class LocalUser:
    """A user of this machine, with the groups that count for file access."""

    uid: int
    groups: frozenset[int]

    @classmethod
    def here(cls) -> Self:
        """Return the user this process runs as."""
        return cls(os.geteuid(), frozenset({os.getegid(), *os.getgroups()}))

    @classmethod
    def of(cls, uid: int) -> Self:
        """Return a user by uid; one unknown to this machine is in no group."""
        if uid == os.geteuid():
            return cls.here()
        try:
            known = pwd.getpwuid(uid)
        except KeyError:
            return cls(uid, frozenset())
        return cls(uid, frozenset(os.getgrouplist(known.pw_name, known.pw_gid)))

    def __str__(self) -> str:
        return name_of(self.uid)

    def may(self, status: os.stat_result, mode: int) -> bool:
        """Return whether the mode of a file allows this (`os.R_OK`, `os.W_OK`, `os.X_OK`); ACLs are ignored."""
        if self.uid == ROOT:
            return True
        shift = 6 if status.st_uid == self.uid else 3 if status.st_gid in self.groups else 0
        return (stat.S_IMODE(status.st_mode) >> shift) & mode == mode

    def can(self, path: Path, mode: int) -> bool:
        """Return whether this user can reach a file and access it so.

        Raises:
            OSError: the file cannot be examined.
        """
        if self.uid == os.geteuid():
            return os.access(path, mode, effective_ids=True)
        above = path.resolve().parents
        return all(self.may(place.stat(), os.X_OK) for place in above) and self.may(path.stat(), mode)


@dataclass(frozen=True, slots=True)
class Users:
    """The current user, and the user of each program; a program without a directory has no user yet."""

    viewer: LocalUser
    runs: Mapping[Program, LocalUser]

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the owners of the directories in the settings."""
        service = owner_of(settings.service.events_dir)
        if service is None:
            service = owner_of(settings.plugin.cache_dir)
        found = {Program.SERVICE: service, Program.SYNC: owner_of(settings.sync.state_dir)}
        return cls(LocalUser.here(), {program: LocalUser.of(uid) for program, uid in found.items() if uid is not None})

    @property
    def of_viewer(self) -> frozenset[Program]:
        """The programs that run as the current user."""
        return frozenset(program for program, person in self.runs.items() if person.uid == self.viewer.uid)

    @property
    def are_two(self) -> bool:
        """True if both programs have a user, and not the same one."""
        return len({person.uid for person in self.runs.values()}) > 1

    def other(self, program: Program) -> LocalUser | None:
        """Return the user of the other program, if it is a different one."""
        return next((who for one, who in self.runs.items() if one is not program), None) if self.are_two else None

    def expects(self, uid: int, program: Program) -> bool:
        """Return whether files of the program with this uid are expected, and no error, for the current user."""
        knows = self.viewer.uid == ROOT or (bool(self.of_viewer) and program not in self.of_viewer)
        return knows and program in self.runs and self.runs[program].uid == uid


def owner_of(path: Location) -> int | None:
    """Return the owner of a path, or of the directory that denies access to it; None if it does not exist here."""
    if not isinstance(path, Path):
        return None
    for place in (path, *path.absolute().parents):
        try:
            return place.stat().st_uid
        except PermissionError:
            continue
        except OSError:
            return None
    return None


def name_of(uid: int) -> str:
    """Return the name of a user, or the uid if there is none."""
    return f"`{account_name(uid)}`"
