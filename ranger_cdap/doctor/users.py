"""The users of this machine that the decision service and the sync job run as, as far as their directories show."""

from __future__ import annotations

import os
import pwd
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ranger_cdap.config import Settings
from ranger_cdap.config.secret_files import Program

ROOT = 0


@dataclass(frozen=True, slots=True)
class Person:
    """A user, with the groups that count for files."""

    uid: int
    groups: frozenset[int]

    @classmethod
    def here(cls) -> Self:
        """The user this process runs as."""
        return cls(os.geteuid(), frozenset({os.getegid(), *os.getgroups()}))

    @classmethod
    def of(cls, uid: int) -> Self:
        """A user by the number; one that this machine does not know is in no group."""
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
        """Whether the mode of a file allows this (`os.R_OK`, `os.W_OK`, `os.X_OK`); other rules are not looked at."""
        if self.uid == ROOT:
            return True
        shift = 6 if status.st_uid == self.uid else 3 if status.st_gid in self.groups else 0
        return (stat.S_IMODE(status.st_mode) >> shift) & mode == mode

    def can(self, path: Path, mode: int) -> bool:
        """Whether this user reaches a file and may do this with it.

        Raises:
            OSError: it cannot be looked at.
        """
        if self.uid == os.geteuid():
            return os.access(path, mode, effective_ids=True)
        above = path.resolve().parents
        return all(self.may(place.stat(), os.X_OK) for place in above) and self.may(path.stat(), mode)


@dataclass(frozen=True, slots=True)
class Users:
    """Who looks, and who runs each program; a program that has no directory yet has no user."""

    viewer: Person
    runs: Mapping[Program, Person]

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The owners of the directories of the settings."""
        service = owner_of(settings.service.events_dir)
        if service is None:
            service = owner_of(settings.plugin.cache_dir)
        found = {Program.SERVICE: service, Program.SYNC: owner_of(settings.sync.state_dir)}
        return cls(Person.here(), {program: Person.of(uid) for program, uid in found.items() if uid is not None})

    @property
    def of_viewer(self) -> frozenset[Program]:
        """The programs that run as who looks."""
        return frozenset(program for program, person in self.runs.items() if person.uid == self.viewer.uid)

    @property
    def are_two(self) -> bool:
        """Whether both programs have a user, and not one."""
        return len({person.uid for person in self.runs.values()}) > 1

    def other(self, program: Program) -> Person | None:
        """Who runs the other program, if that is somebody else."""
        return next((who for one, who in self.runs.items() if one is not program), None) if self.are_two else None

    def expects(self, uid: int, program: Program) -> bool:
        """Whether who looks, as root or as the user of the other program only, may find that user's things."""
        knows = self.viewer.uid == ROOT or (bool(self.of_viewer) and program not in self.of_viewer)
        return knows and program in self.runs and self.runs[program].uid == uid


def owner_of(path: Path) -> int | None:
    """The owner of a path, or of what keeps us from it; None if it is not there."""
    for place in (path, *path.absolute().parents):
        try:
            return place.stat().st_uid
        except PermissionError:
            continue
        except OSError:
            return None
    return None


def name_of(uid: int) -> str:
    """A user for people: the name, or the number where there is none."""
    try:
        return f"`{pwd.getpwuid(uid).pw_name}`"
    except KeyError:
        return f"`{uid}`"
