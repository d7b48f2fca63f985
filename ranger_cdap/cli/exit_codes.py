"""The exit codes of `ranger-cdap`: one number for each kind of outcome, the same for every command, for ever."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final


class ExitCode(IntEnum):
    """How a command ended."""

    OK = 0
    ERROR = 1
    NO = 2
    INVALID_INPUT = 3
    NOT_READY = 4
    LEASE_HELD = 5
    INTERRUPTED = 130


MEANINGS: Final[Mapping[ExitCode, str]] = {
    ExitCode.OK: "done; the answer is yes, or all is well",
    ExitCode.ERROR: "an error: what was wanted could not be done",
    ExitCode.NO: "done, and the answer is no: denied, or something was found that should not be",
    ExitCode.INVALID_INPUT: "invalid input: an argument, a file or a setting; nothing was done",
    ExitCode.NOT_READY: "not ready: there are no policies to decide by",
    ExitCode.LEASE_HELD: "another run of the sync job is going on",
    ExitCode.INTERRUPTED: "interrupted, or a question was answered with no",
}
