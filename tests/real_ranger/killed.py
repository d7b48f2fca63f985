"""A command of ours that is killed by SIGKILL when Ranger Admin has answered its n-th request that changes something.

`python -m tests.real_ranger.killed` reads `[n, words]` as JSON, one a line, runs each command in a process of its own,
and prints how that process ended: its exit code, or -9.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, Final

import pytest
from apache_ranger.utils import HttpMethod

from ranger_cdap.cli.main import main as run
from ranger_cdap.ranger.client.http import AdminHttp

KILLED: Final = -signal.SIGKILL


def kill_after(number: int, patch: pytest.MonkeyPatch) -> None:
    """From now on the answer to the n-th write is the last thing that happens."""
    original, writes = AdminHttp._send, count(1)

    def sending(self: AdminHttp, url: Any, api: Any, *rest: Any) -> Any:
        answer = original(self, url, api, *rest)
        if api.method is not HttpMethod.GET and next(writes) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    patch.setattr(AdminHttp, "_send", sending)


class Killer:
    """Runs commands that are killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, number: int, words: Sequence[str]) -> int:
        """Run a command until the answer to its n-th write; its exit code if it makes fewer, else `KILLED`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([number, list(words)]) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())


@contextmanager
def killer(environment: dict[str, str]) -> Iterator[Killer]:
    """One process that has loaded everything and makes the others."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.real_ranger.killed"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        yield Killer(process)


def main() -> None:
    for line in sys.stdin:
        number, words = json.loads(line)
        if not (child := os.fork()):
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            kill_after(number, pytest.MonkeyPatch())
            os._exit(run(words))
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
