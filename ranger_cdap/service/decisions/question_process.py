"""Questions about a whole set of policies, computed in a child process, so that no decision for CDAP waits for them.

The child has the policies, roles, tags and users in effect, and an uploaded file; it has no secret, opens no
connection, and ends at a limit of time or memory, or with this process.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Final

import msgspec

from ranger_cdap.config import CdapSettings, EnforceSettings, MasterSettings, Settings
from ranger_cdap.policies.refresh.documents import Documents, pieces
from ranger_cdap.service.http.reply import Refused
from ranger_cdap.service.wire.console_wire import StatusAnswer

_log = logging.getLogger(__name__)

MAX_SECONDS: Final = 60.0
MAX_MEMORY: Final = 4 << 30
"""Address space of the child, in bytes."""
MAX_WAIT: Final = 30.0
"""Seconds that a question waits for those of other callers."""
WORKER: Final = "ranger_cdap.service.api.console_worker"
_INHERITED: Final = frozenset(
    {"HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "PYTHONPATH", "SYSTEMROOT", "TEMP", "TMPDIR", "TZ", "VIRTUAL_ENV"}
)
"""Environment of the child: secrets of the service may be in variables of any other name."""


class PageContext(msgspec.Struct, frozen=True):
    """Values of a page beside its form and answer: who asks, the address of Ranger's web UI, the longest body."""

    caller: str
    ranger_ui: str
    longest: int


class Question(msgspec.Struct, frozen=True):
    """A question of the console: what is typed into the form of a view, and the policies in effect.

    `page` is None if the answer is to be JSON. `now` is in epoch milliseconds; `parent` is the process to end with.
    `status` and `pending` are for the page of permission checks.
    """

    view: str
    typed: dict[str, str]
    page: PageContext | None
    service: str
    cdap: CdapSettings
    enforce: EnforceSettings
    master: MasterSettings
    now: int
    parent: int
    policies: bytes
    roles: bytes
    tags: bytes | None
    users: bytes | None
    max_seconds: float = MAX_SECONDS
    max_memory: int = MAX_MEMORY
    file: bytes = b""
    file_name: str = ""
    status: StatusAnswer | None = None
    pending: str = ""

    @property
    def documents(self) -> Documents:
        """The policies in effect."""
        return Documents(self.policies, self.roles, self.tags, self.users)


class Result(msgspec.Struct, frozen=True):
    """An answer: a page or JSON; or the problems of the form; or `failure`, for the log, with a sentence for people."""

    body: bytes = b""
    problems: dict[str, str] = {}
    failure: str = ""
    sentence: str = ""


def question(
    view: str,
    typed: Mapping[str, str],
    page: PageContext | None,
    documents: Documents,
    *,
    service: str,
    settings: Settings,
    now: int,
    file: bytes = b"",
    file_name: str = "",
    status: StatusAnswer | None = None,
    pending: str = "",
) -> Question:
    """Return a question about the documents in effect."""
    return Question(
        view=view,
        typed=dict(typed),
        page=page,
        service=service,
        cdap=settings.cdap,
        enforce=settings.enforce,
        master=settings.master,
        now=now,
        parent=os.getpid(),
        policies=b"".join(pieces(documents.policies)),
        roles=documents.roles,
        tags=documents.tags,
        users=documents.users,
        file=file,
        file_name=file_name,
        status=status,
        pending=pending,
    )


class QuestionProcess:
    """Runner of questions: one at a time, and at most one per caller, waiting or running."""

    def __init__(self, max_wait: float = MAX_WAIT) -> None:
        self._max_wait = max_wait
        self._turn = threading.Lock()
        self._state = threading.Lock()
        self._callers: set[str] = set()
        self._running: subprocess.Popen[bytes] | None = None
        self._closed = False

    def ask(self, caller: str, asked: Question) -> Result:
        """Return the result of a question.

        Raises:
            Refused: the caller has another question (429); or other callers take too long, the question needs too much
                time or memory, or the service stops (503).
        """
        with self._state:
            if caller in self._callers:
                raise Refused(429, "your previous question is still being answered; try again in a moment")
            self._callers.add(caller)
        try:
            if not self._turn.acquire(timeout=self._max_wait):
                raise Refused(503, "the console is busy with questions of others; try again")
            try:
                return self._run(asked)
            finally:
                self._turn.release()
        finally:
            with self._state:
                self._callers.discard(caller)

    def close(self) -> None:
        """End the running question, and accept no more."""
        with self._state:
            self._closed = True
            if self._running is not None:
                self._running.kill()

    def _run(self, asked: Question) -> Result:
        with self._state:
            if self._closed:
                raise Refused(503, "the service is stopping")
            process = subprocess.Popen(  # noqa: S603 - our own program, without arguments from outside
                [sys.executable, "-P", "-m", WORKER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={name: value for name, value in os.environ.items() if name in _INHERITED or name.startswith("LC_")},
                start_new_session=True,  # a Ctrl-C in the service's terminal is for the service
            )
            self._running = process
        try:
            output, _ = process.communicate(msgspec.msgpack.encode(asked), timeout=asked.max_seconds)
        except subprocess.TimeoutExpired:
            raise Refused(
                503, f"the answer takes more than {asked.max_seconds:g} s; narrow the question, or {_command(asked)}"
            ) from None
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()
            with self._state:
                self._running = None
        return self._result(asked, output, process.returncode)

    def _result(self, asked: Question, output: bytes, code: int) -> Result:
        try:
            result = msgspec.msgpack.decode(output, type=Result)
        except msgspec.MsgspecError:
            _log.error("the console's view `%s` ended its process with %d", asked.view, code)
            raise Refused(503, f"the process that computes the answer ended; {_command(asked)}") from None
        if result.failure:
            _log.error("the console's view `%s` failed with %s", asked.view, result.failure)
        if result.sentence:
            raise Refused(503, f"{result.sentence}; {_command(asked)}")
        return result


def _command(asked: Question) -> str:
    command = {"impact": "policies diff", "ask": "explain"}.get(asked.view, asked.view)
    return f"use `ranger-cdap {command}`, which has no limits"
