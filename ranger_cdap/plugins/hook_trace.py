"""`RANGER_CDAP_TRACE_PLUGINS=1`: a trace of every hook call, on standard error.

A line has the hook, the plugins that were called, the number of results and the duration. Arguments and results are
left out: they contain names of users, and settings with secrets.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pluggy

VARIABLE: Final = "RANGER_CDAP_TRACE_PLUGINS"


def trace_if_wanted(manager: pluggy.PluginManager) -> None:
    """Trace the hook calls of this manager if the environment variable is set."""
    if os.environ.get(VARIABLE, "") in ("", "0"):
        return
    trace = _Trace()
    manager.add_hookcall_monitoring(trace.before, trace.after)


class _Trace:
    """A trace with a stack per thread: hooks call hooks, and several threads decide."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    def before(self, hook_name: str, methods: Sequence[pluggy.HookImpl], kwargs: Mapping[str, Any]) -> None:
        self._began().append(time.perf_counter())

    def after(
        self, outcome: pluggy.Result[Any], hook_name: str, methods: Sequence[pluggy.HookImpl], kwargs: Mapping[str, Any]
    ) -> None:
        milliseconds = 1000 * (time.perf_counter() - self._began().pop())
        asked = ", ".join(method.plugin_name for method in reversed(methods)) or "no plugin"
        if outcome.exception is not None:
            ended = f"failed with {type(outcome.exception).__name__}"
        else:
            answers = outcome.get_result()
            ended = f"{len(answers)} answered" if isinstance(answers, list) else "answered"
        line = f"hook {hook_name}({', '.join(kwargs)}) of {asked}: {ended} in {milliseconds:.1f} ms\n"
        # One write, so that lines of several threads do not mix.
        sys.stderr.write(line)

    def _began(self) -> list[float]:
        stack: list[float] | None = getattr(self._of_thread, "stack", None)
        if stack is None:
            stack = self._of_thread.stack = []
        return stack
