"""`PosixGroups`: groups of the accounts of this machine, by the system's own calls and without a shell."""

from __future__ import annotations

import grp
import os
import pwd

from ranger_cdap.errors import GroupLookupFailed


class PosixGroups:
    """Source of groups: users by `getpwnam`, groups by `getgrouplist`, as Hadoop's JNI mapping."""

    name = "posix"
    is_definitive = False
    """A name service that is unavailable looks like one that does not know the user."""

    def look_up(self, user: str, deadline: float) -> frozenset[str] | None:
        """Return the groups of a user; None if the machine does not know the user.

        Raises:
            GroupLookupFailed: one of the groups has no name, or the account is another spelling of the user.
        """
        _ = deadline  # the system's calls have no time-out; the thread around them does
        try:
            account = pwd.getpwnam(user)
        except (KeyError, ValueError):
            return None
        if account.pw_name != user:  # as with SSSD over a directory that compares names without case
            raise GroupLookupFailed("the account on this machine has a name that is not exactly that of the user")
        try:
            return frozenset(grp.getgrgid(gid).gr_name for gid in os.getgrouplist(user, account.pw_gid))
        except (KeyError, OSError):
            raise GroupLookupFailed("a group of the user has no name on this machine") from None

    def close(self) -> None:
        """Do nothing: nothing is open."""
