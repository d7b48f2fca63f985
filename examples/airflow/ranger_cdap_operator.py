"""An operator that runs one command of ranger-cdap; by its exit code Airflow retries, skips or fails the task."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from airflow.sdk import BaseOperator
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException

EXIT_CODES: Mapping[int, tuple[str, str]] = {
    0: ("done", "done"),
    1: ("retry", "the command failed; what is pending stays, and the next try sends it"),
    2: ("person", "the answer is no: for `sync reconcile` it is drift, and a person decides what becomes of it"),
    3: ("person", "an argument, a file or a setting is wrong; the log names it, and another try would end alike"),
    4: ("retry", "no policies are available: Ranger Admin is unreachable, and no copy is here"),
    5: ("skip", "another run of the sync job is in progress, and does this one's work"),
    6: ("person", "access would change in a way that `--fail-on` forbids"),
    130: ("retry", "the command was interrupted; the next try resumes"),
    143: ("retry", "the command was ended by SIGTERM; the next try resumes"),
}
"""Every exit code of `ranger-cdap --help`: what Airflow does next, and why."""

SECONDS_TO_END = 60
"""The time in which a command that was told to end must have ended."""


class RangerCdapOperator(BaseOperator):
    """Run one command of ranger-cdap, without a shell; its output gets into the log of the task.

    Exit codes that only a person can act on fail the task at once, whatever `retries` says.

    Args:
        program: the path of `ranger-cdap`.
        arguments: its arguments, as templates.
        environment: all variables that it has; of the worker's own it gets none.
    """

    template_fields: Sequence[str] = ("arguments",)

    def __init__(
        self, *, program: str, arguments: Sequence[str], environment: Mapping[str, str], **others: Any
    ) -> None:
        super().__init__(**others)
        self.program = program
        self.arguments = list(arguments)
        self.environment = dict(environment)
        self._running: subprocess.Popen[str] | None = None

    def execute(self, context: Any) -> None:
        """Run it to its end, and raise what its exit code means to Airflow."""
        command = [self.program, *self.arguments]
        try:
            self._running = subprocess.Popen(  # noqa: S603
                command,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        except OSError as e:
            raise AirflowFailException(f"`{self.program}` cannot be started: {e.strerror}") from None
        try:
            for line in self._running.stdout or ():
                self.log.info("%s", line.rstrip("\n"))
            code = self._running.wait()
        finally:
            # Airflow's time limit ends this method, not the command.
            self.on_kill()
        # A signal that the command did not live to handle has a negative code here.
        unknown = ("retry" if code < 0 else "person", "this exit code is not one of ranger-cdap's")
        kind, reason = EXIT_CODES.get(code, unknown)
        sentence = f"`{' '.join(command)}` ended with exit code {code}: {reason}"
        if kind == "skip":
            raise AirflowSkipException(sentence)
        if kind == "retry":
            raise AirflowException(sentence)
        if kind == "person":
            raise AirflowFailException(sentence)

    def on_kill(self) -> None:
        """End the command as Ctrl-C does, so that the next run resumes; kill it only if it does not end."""
        if self._running is None or self._running.poll() is not None:
            return
        self._running.terminate()
        try:
            self._running.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._running.kill()
            self._running.wait()
