"""File permissions of published events: readable by the owner, and by the members of one group if configured.

Law: only the owner may write, others get nothing, whatever the umask is; and a change from one setting to another never
allows more in between.
"""

from __future__ import annotations

import grp
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from ranger_cdap.directory.account_name import account_name
from ranger_cdap.errors import ConfigError

_ROOT: Final = 0
_NO_GROUP: Final = 2**32 - 1
_LONGEST: Final = len(str(_NO_GROUP))
_PRIVATE: Final = 0o700
_BY_GROUP: Final = 0o050
_ALL: Final = 0o7777
_SETTING: Final = "`service.events_group`"


@dataclass(frozen=True, slots=True)
class EventAccess:
    """Group that reads published events, by its number; None for the owner only."""

    group: int | None = None

    @classmethod
    def of(cls, group: str) -> Self:
        """Return the access for a group by its name or number; for the owner only if it is empty.

        Raises:
            ConfigError: there is no such group, or this process is not in it and so cannot give it a file.
        """
        if not group:
            return cls()
        number = group_number(group)
        if number is None:
            raise ConfigError(f"there is no group `{group}` on this machine; add it (groupadd) or correct {_SETTING}")
        if os.geteuid() != 0 and number not in {os.getegid(), *os.getgroups()}:
            raise ConfigError(
                f"user `{account_name(os.geteuid())}`, which runs this program, is not in the group `{group}` of"
                f" {_SETTING}: add the user (usermod -aG; `SupplementaryGroups=` of the unit) and start again"
            )
        return cls(number)

    @property
    def directory_mode(self) -> int:
        """Return the mode of the directory of published events."""
        return _PRIVATE if self.group is None else _PRIVATE | _BY_GROUP

    @property
    def file_mode(self) -> int:
        """Return the mode of a published file."""
        return self.directory_mode & 0o666

    def give_file(self, descriptor: int) -> None:
        """Set the permissions of an open file.

        Raises:
            OSError: the disk fails, or the file is another user's.
        """
        _give(descriptor, self.file_mode, self.group)

    def align_directory(self, directory: Path) -> None:
        """Set the permissions of our directory; the operator named it, so it may be a link.

        Raises:
            ConfigError: the directory is another user's.
            OSError: the disk fails.
        """
        self._align(directory, directory.stat(), self.directory_mode, os.O_DIRECTORY)

    def align_file(self, path: Path) -> None:
        """Set the permissions of a published file; anything but a regular file, above all a link, is left alone.

        Raises:
            ConfigError: the file is another user's.
            OSError: the disk fails.
        """
        found = path.lstat()
        if stat.S_ISREG(found.st_mode):
            if found.st_uid not in (os.geteuid(), _ROOT):
                raise _of_another(path)  # its owner could write there
            self._align(path, found, self.file_mode, os.O_NOFOLLOW | os.O_NONBLOCK)

    def _align(self, path: Path, found: os.stat_result, mode: int, flags: int) -> None:
        if stat.S_IMODE(found.st_mode) == mode and self.group in (None, found.st_gid):
            return
        try:
            with opened(path, os.O_RDONLY | flags) as descriptor:
                _give(descriptor, mode, self.group)
        except PermissionError:
            if found.st_uid == os.geteuid():  # the file system does not support it
                raise
            raise _of_another(path) from None


def group_number(group: str) -> int | None:
    """Return the number of a group by its name or number; None if there is none."""
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        is_number = group.isascii() and group.isdecimal() and len(group) <= _LONGEST
        return int(group) if is_number and int(group) < _NO_GROUP else None


def _give(descriptor: int, mode: int, group: int | None) -> None:
    found = os.fstat(descriptor)
    if group is not None and found.st_gid != group:
        # First revoke all access but the owner's: neither group may have more in between than in the end.
        os.fchmod(descriptor, mode & _PRIVATE)
        os.fchown(descriptor, -1, group)
        found = os.fstat(descriptor)
    if found.st_mode & _ALL != mode:
        os.fchmod(descriptor, mode)


@contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    """Open the file, and close its descriptor at the end."""
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _of_another(path: Path) -> ConfigError:
    user = account_name(os.geteuid())
    return ConfigError(
        f"`{path}` does not belong to `{user}`, which runs this program: chown -R `service.events_dir` to `{user}`"
    )
