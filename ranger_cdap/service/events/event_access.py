"""Who may read what the decision service publishes: its owner, and the members of one group if the settings name one.

Law: only the owner may write, others get nothing, whatever the umask is; and no more is ever allowed on the way
from one setting to another.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

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
    """The group that reads published events, by its number; None where only the owner does."""

    group: int | None = None

    @classmethod
    def of(cls, group: str) -> Self:
        """The access for a group by its name or number; for the owner alone if that is empty.

        Raises:
            ConfigError: there is no such group, or this process is not in it and so could not give it anything.
        """
        if not group:
            return cls()
        number = group_number(group)
        if number is None:
            raise ConfigError(f"there is no group `{group}` on this machine: groupadd it, or correct {_SETTING}")
        if os.geteuid() != 0 and number not in {os.getegid(), *os.getgroups()}:
            raise ConfigError(
                f"user `{_user()}`, who runs this, is not in the group `{group}` of {_SETTING}: add the user "
                "(usermod -aG; `SupplementaryGroups=` of the unit) and start again"
            )
        return cls(number)

    @property
    def directory_mode(self) -> int:
        """The mode of the directory of published events."""
        return _PRIVATE if self.group is None else _PRIVATE | _BY_GROUP

    @property
    def file_mode(self) -> int:
        """The mode of a published file."""
        return self.directory_mode & 0o666

    def give_file(self, descriptor: int) -> None:
        """Make what an open file allows exactly this.

        Raises:
            OSError: the disk does not do it, or the file is another user's.
        """
        _give(descriptor, self.file_mode, self.group)

    def align_directory(self, directory: Path) -> None:
        """Make what a directory of ours allows exactly this; the operator named it, so it may be a link.

        Raises:
            ConfigError: the directory is another user's.
            OSError: the disk does not do it.
        """
        self._align(directory, directory.stat(), self.directory_mode, os.O_DIRECTORY)

    def align_file(self, path: Path) -> None:
        """Make what a published file allows exactly this; what is no regular file is left alone, a link above all.

        Raises:
            ConfigError: the file is another user's.
            OSError: the disk does not do it.
        """
        found = path.lstat()
        if stat.S_ISREG(found.st_mode):
            if found.st_uid not in (os.geteuid(), _ROOT):
                raise _of_another(path)  # who could write there
            self._align(path, found, self.file_mode, os.O_NOFOLLOW | os.O_NONBLOCK)

    def _align(self, path: Path, found: os.stat_result, mode: int, flags: int) -> None:
        if stat.S_IMODE(found.st_mode) == mode and self.group in (None, found.st_gid):
            return
        try:
            with opened(path, os.O_RDONLY | flags) as descriptor:
                _give(descriptor, mode, self.group)
        except PermissionError:
            if found.st_uid == os.geteuid():  # the file system does not do it
                raise
            raise _of_another(path) from None


def group_number(group: str) -> int | None:
    """The number of a group by its name, or by the number itself; None if there is none."""
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        is_number = group.isascii() and group.isdecimal() and len(group) <= _LONGEST
        return int(group) if is_number and int(group) < _NO_GROUP else None


def _give(descriptor: int, mode: int, group: int | None) -> None:
    found = os.fstat(descriptor)
    if group is not None and found.st_gid != group:
        # First nothing for anyone else: neither group may have more in between than it is to have.
        os.fchmod(descriptor, mode & _PRIVATE)
        os.fchown(descriptor, -1, group)
        found = os.fstat(descriptor)
    if found.st_mode & _ALL != mode:
        os.fchmod(descriptor, mode)


@contextmanager
def opened(path: Path, flags: int) -> Iterator[int]:
    """A descriptor of the file, closed at the end."""
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _of_another(path: Path) -> ConfigError:
    user = _user()
    return ConfigError(
        f"`{path}` belongs to another user than `{user}`, who runs this: chown -R `service.events_dir` to `{user}`"
    )


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())
