"""`Questions`: one question at a time, and at most one per caller, in a thread of its own and within a deadline.

Nothing can stop a thread of Python, so a question that takes too long, or too much memory, gets an error as its answer,
and the console starts again: its process is replaced, and with it what is still computed.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

from ranger_cdap.service.http.reply import Refused

_log = logging.getLogger(__name__)

MAX_SECONDS: Final = 60.0
MAX_WAIT: Final = 30.0
"""Seconds that a question waits for those of other callers."""


@dataclass(eq=False, slots=True)
class Questions:
    """Runner of the questions of one console; for use by its event loop's thread only."""

    start_again: Callable[[], None]
    max_seconds: float = MAX_SECONDS
    max_wait: float = MAX_WAIT
    _callers: set[str] = field(default_factory=set)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, caller: str, command: str, compute: Callable[[], bytes]) -> bytes:
        """Return the answer; `command` answers the same question without these limits.

        Raises:
            Refused: the caller has another question (429), others take too long, or the answer takes too much time or
                memory (503).
        """
        if caller in self._callers:
            raise Refused(429, "your previous question is still being answered; try again in a moment")
        self._callers.add(caller)
        try:
            async with asyncio.timeout(self.max_wait):
                await self._turn.acquire()
            return await self._answer(compute, command)
        except TimeoutError:
            raise Refused(503, "the console is busy with questions of others; try again") from None
        finally:
            self._callers.discard(caller)

    async def _answer(self, compute: Callable[[], bytes], command: str) -> bytes:
        answer: Future[bytes] = Future()
        answer.set_running_or_notify_cancel()
        threading.Thread(target=_run, args=(compute, answer), name="question", daemon=True).start()
        try:
            async with asyncio.timeout(self.max_seconds):
                return await asyncio.wrap_future(answer)
        except TimeoutError:
            problem = f"takes more than {self.max_seconds:g} s"
        except MemoryError:
            problem = "needs more memory than the console has"
        finally:
            if answer.done():  # else it goes on, and nothing else begins
                self._turn.release()
        _log.error("an answer %s; the console starts again", problem)
        self.start_again()
        raise Refused(503, f"the answer {problem}; narrow the question, or use `ranger-cdap {command}`, without limits")


def _run(compute: Callable[[], bytes], answer: Future[bytes]) -> None:
    try:
        answer.set_result(compute())
    except BaseException as e:
        answer.set_exception(e)
