"""`Questions`: one question at a time per caller, each in a thread of its own and within a deadline.

Nothing can stop a thread of Python, so a question that takes too long, or too much memory, gets an error as its answer,
and the console starts again: its process is replaced, and with it what is still computed.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from ranger_cdap.service.http.reply import Refused

_log = logging.getLogger(__name__)

MAX_SECONDS: Final = 60.0


class Questions:
    """Runner of the questions of one console; for use by its event loop's thread only."""

    def __init__(self, start_again: Callable[[], None], max_seconds: float) -> None:
        self._start_again = start_again
        self._max_seconds = max_seconds
        self._callers: set[str] = set()

    async def ask(self, caller: str, command: str, compute: Callable[[], bytes]) -> bytes:
        """Return the answer; `command` answers the same question without these limits.

        Raises:
            Refused: the caller has another question (429), or the answer takes too much time or memory (503).
        """
        if caller in self._callers:
            raise Refused(429, "your previous question is still being answered; try again in a moment")
        self._callers.add(caller)
        answer: Future[bytes] = Future()
        answer.set_running_or_notify_cancel()
        threading.Thread(target=_run, args=(compute, answer), name="question", daemon=True).start()
        try:
            async with asyncio.timeout(self._max_seconds):
                return await asyncio.wrap_future(answer)
        except TimeoutError:
            problem = f"takes more than {self._max_seconds:g} s"
        except MemoryError:
            problem = "needs more memory than the console has"
        finally:
            self._callers.discard(caller)
        _log.error("an answer %s; the console starts again", problem)
        self._start_again()
        raise Refused(503, f"the answer {problem}; narrow the question, or use `ranger-cdap {command}`, without limits")


def _run(compute: Callable[[], bytes], answer: Future[bytes]) -> None:
    try:
        answer.set_result(compute())
    except BaseException as e:
        answer.set_exception(e)
