"""Checks of our directories: their owner, and the access of the other program and of everyone else."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ranger_cdap.config import AuditSettings, ServiceSettings
from ranger_cdap.config.secret_files import Program
from ranger_cdap.doctor.finding import Finding, failed, note, well
from ranger_cdap.doctor.users import ROOT, LocalUser, Users, name_of
from ranger_cdap.errors import reason
from ranger_cdap.wire.event_access import EventAccess, group_number
from ranger_cdap.wire.watermark import WATERMARK

_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OTHERS: Final = 0o077
_WRITE: Final = os.W_OK | os.X_OK
_READ: Final = os.R_OK | os.X_OK


@dataclass(frozen=True, slots=True)
class Kept:
    """A directory of one program: its purpose, setting, user and creator, and the harm others could do there."""

    check: str
    setting: str
    program: Program
    user: str
    made_by: str
    danger: str
    is_private: bool = False

    def examine(self, directory: Path, users: Users) -> Finding:
        """Check that only the program can write there, and that no one else can read what is private."""
        try:
            status = directory.stat()
        except FileNotFoundError:
            return note(self.check, f"`{directory}` does not exist", f"nothing to do: {self.made_by} creates it")
        except OSError as e:
            return (
                well(self.check, f"`{directory}` is not accessible to user {users.viewer}, as it should be")
                if isinstance(e, PermissionError) and users.of_viewer and self.program not in users.of_viewer
                else failed(self.check, f"`{directory}` cannot be examined: {reason(e)}", f"correct `{self.setting}`")
            )
        if problem := self._problem(directory, status, users):
            return failed(
                self.check,
                f"`{directory}` {problem}",
                f"give it to the user {self.user} runs as, not writable by anyone else (chown, chmod 700)",
            )
        return (
            well(self.check, f"`{directory}` is private and writable")
            if status.st_uid == users.viewer.uid
            else well(
                self.check, f"`{directory}` belongs to user {name_of(status.st_uid)}, and no one else can write to it"
            )
        )

    def _problem(self, directory: Path, status: os.stat_result, users: Users) -> str:
        if not stat.S_ISDIR(status.st_mode):
            return "is not a directory"
        expected = users.expects(status.st_uid, self.program)
        if status.st_uid not in (users.viewer.uid, ROOT) and not expected:
            return f"belongs to another user, {name_of(status.st_uid)}, who could {self.danger}"
        if status.st_mode & _OTHERS_WRITE:
            return f"can be written by others, who could {self.danger}"
        if self.is_private and status.st_mode & _OTHERS:
            return "can be read by others"
        if above := _parent_owned_by(directory, users.other(self.program)):
            return f"is below `{above}` of the other program's user, who could replace it"
        return "" if expected or os.access(directory, _WRITE) else "cannot be written"


CACHE: Final = Kept(
    "cache directory", "plugin.cache_dir", Program.SERVICE, "the plugin", "the first download", "put policies there"
)
HISTORY: Final = Kept(
    "history directory",
    "plugin.history_dir",
    Program.SERVICE,
    "the plugin",
    "the first download",
    "change what `history:` answers",
)
_AUDIT: Final = Kept(
    "audit directory",
    "audit.file",
    Program.SERVICE,
    "the plugin",
    "the first audit record",
    "change or remove audit records",
)
STATE: Final = Kept(
    "state directory",
    "sync.state_dir",
    Program.SYNC,
    "the sync job",
    "the first run",
    "become creators",
    is_private=True,
)


def examine_audit_directories(audit: AuditSettings, users: Users) -> Iterator[Finding]:
    """Check that only the plugin can write its audit records, and that manual overrides can be audited as well."""
    if "file" in audit.sinks:
        yield _AUDIT.examine(audit.file.parent, users)
    if users.of_viewer == {Program.SYNC}:
        places = [audit.spool_dir, *([audit.file.parent] if "file" in audit.sinks else [])]
        yield from (
            failed(
                "audit of manual overrides",
                f"`sync assign` and `sync forget` cannot write their records to `{place}`",
                "leave `audit.file` and `audit.spool_dir` out: the default is a directory per user",
            )
            for place in dict.fromkeys(places)
            if _is_there(place) and not os.access(place, _WRITE)
        )


def examine_users(service: ServiceSettings, users: Users) -> Iterator[Finding]:
    """Check that each program runs as a user of its own: anyone who compromises one gets the rights of its user."""
    check = "users of decision service and sync job"
    if not service.callers:
        return
    if users.are_two:
        yield well(check, ", ".join(f"{program}: {person}" for program, person in users.runs.items()))
    elif len(users.runs) > 1:
        yield note(
            check,
            f"both run as {users.runs[Program.SYNC]}: anyone who compromises one has the secrets of both",
            "give the sync job a user of its own (docs/how-to/run-in-production.md#two-users)",
        )


def examine_events(service: ServiceSettings, users: Users) -> Finding:
    """Check the stored records: the sync job trusts them, so no one else may write them, and they name users."""
    check, directory = "records for the sync job", service.events_dir
    chown = "chown it to the user the service runs as"
    try:
        status = directory.stat()
    except FileNotFoundError:
        return note(check, f"`{directory}` does not exist", "nothing to do: the service creates it")
    except OSError as e:
        return failed(
            check,
            f"`{directory}` cannot be examined: {reason(e)}",
            "correct `service.events_dir`, or let the sync job traverse its parents (chmod o+x)",
        )
    if not stat.S_ISDIR(status.st_mode):
        return failed(check, f"`{directory}` is not a directory", "correct `service.events_dir`")
    if status.st_uid not in (users.viewer.uid, ROOT) and not users.expects(status.st_uid, Program.SERVICE):
        return failed(check, f"`{directory}` belongs to another user, {name_of(status.st_uid)}", chown)
    if status.st_mode & _OTHERS_WRITE:
        return failed(check, f"`{directory}` is writable by others, who could forge events", f"chmod go-w {directory}")
    reader = users.other(Program.SERVICE)
    if above := _parent_owned_by(directory, reader):
        return failed(
            check,
            f"`{directory}` is below `{above}` of the sync job's user, who could replace it",
            "move it to a directory that only root and the user of the service can write",
        )
    return _handed_over(check, service, status, reader, users)


def _handed_over(
    check: str, service: ServiceSettings, status: os.stat_result, reader: LocalUser | None, users: Users
) -> Finding:
    directory, group = service.events_dir, service.events_group
    number = group_number(group) if group else None
    if group and number is None:
        return failed(check, f"there is no group `{group}`", "create it, or correct `service.events_group`")
    if reader is not None and not group:
        return failed(
            check,
            f"user {reader}, who runs the sync job, cannot read `{directory}`",
            "set `service.events_group` to a group of both users, and restart the service",
        )
    for person in (users.runs.get(Program.SERVICE), reader):
        if person is not None and person.uid != ROOT and number is not None and number not in person.groups:
            return failed(
                check,
                f"user {person} is not in the group `{group}` of `service.events_group`",
                f"usermod -aG {group} {str(person).strip('`')}, and restart both programs",
            )
    access = EventAccess(number)
    if stat.S_IMODE(status.st_mode) & _OTHERS & ~access.directory_mode:
        return failed(
            check,
            f"`{directory}` is accessible to others than its owner" + (f" and the group `{group}`" if group else ""),
            f"chmod {access.directory_mode:o} {directory}",
        )
    if status.st_uid == users.viewer.uid and not os.access(directory, _WRITE):
        return failed(check, f"`{directory}` cannot be written", f"chmod 700 {directory}, or another disk")
    if wrong := _wrong_access(directory, status, access, users.viewer):
        return failed(
            check,
            f"`{wrong}` does not match `service.events_group`, or belongs to another user",
            "restart the decision service: at start it applies `service.events_group` to all files",
        )
    if group:
        return well(check, f"`{directory}` is written by user {name_of(status.st_uid)} and read by group `{group}`")
    return (
        well(check, f"`{directory}` is private and writable")
        if status.st_uid == users.viewer.uid
        else well(check, f"`{directory}` is private to user {name_of(status.st_uid)}")
    )


def _wrong_access(directory: Path, status: os.stat_result, access: EventAccess, viewer: LocalUser) -> Path | None:
    """Return the first published path whose group access does not match `service.events_group`."""
    if not _fits(status, access, access.directory_mode):
        return directory
    if not viewer.may(status, _READ):
        return None
    for path in (directory / WATERMARK, *directory.glob("*.jsonl")):
        try:
            found = path.lstat()
        except OSError:  # not created yet, or removed meanwhile
            continue
        is_ours = found.st_uid in (status.st_uid, ROOT)
        if stat.S_ISREG(found.st_mode) and not (is_ours and _fits(found, access, access.file_mode)):
            return path
    return None


def _fits(status: os.stat_result, access: EventAccess, mode: int) -> bool:
    given = stat.S_IMODE(status.st_mode) & _OTHERS == mode & _OTHERS
    return given and (access.group is None or status.st_gid == access.group)


def _parent_owned_by(directory: Path, other: LocalUser | None) -> Path | None:
    """Return a parent of the directory that the other user owns, and could therefore replace the directory."""
    if other is None or other.uid == ROOT:
        return None
    for above in directory.absolute().parents:
        with suppress(OSError):
            if above.stat().st_uid == other.uid:
                return above
    return None


def _is_there(place: Path) -> bool:
    try:
        return place.exists()
    except OSError:
        return True
