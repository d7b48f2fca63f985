"""The exit codes of `ranger-cdap`: one number per kind of outcome, the same for every command and version."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class Terminated(KeyboardInterrupt):
    """SIGTERM, where it ends a command as Ctrl-C does."""


class ExitCode(IntEnum):
    """Exit code of a command."""

    OK = 0
    ERROR = 1
    NO = 2
    INVALID_INPUT = 3
    NOT_READY = 4
    LEASE_HELD = 5
    ACCESS_CHANGED = 6
    INTERRUPTED = 130
    TERMINATED = 143


MEANINGS: Final[Mapping[ExitCode, str]] = {
    ExitCode.OK: "done; the answer is yes, or all is well",
    ExitCode.ERROR: "error: the command failed",
    ExitCode.NO: "done, and the answer is no: denied, or problems were found",
    ExitCode.INVALID_INPUT: "invalid input: an argument, a file or a setting; nothing was done",
    ExitCode.NOT_READY: "not ready: Ranger Admin cannot be reached, or there are no policies",
    ExitCode.LEASE_HELD: "another run of the sync job is in progress",
    ExitCode.ACCESS_CHANGED: "access changes in a way that `--fail-on` forbids",
    ExitCode.INTERRUPTED: "interrupted, or a confirmation was declined",
    ExitCode.TERMINATED: "SIGTERM ended the command, as Ctrl-C does",
}
