"""Ctrl-C or SIGTERM at any moment of a command, loading and ending included: no traceback."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ranger_cdap.cli.exit_codes import ExitCode
from tests.service.serve_process import configuration, ranger_admin

# As from a terminal: what a shell starts in the background ignores interrupts. The package is there when it begins.
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); import ranger_cdap;"
    "print('begins', flush=True); from ranger_cdap.__main__ import run; run()"
)
LONGEST_RUN = 2.0  # seconds
COMMANDS = (["embedded-admin", "--port", "0"], ["serve"], ["policies", "refresh"], ["needs"])


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_signal_at_any_moment_shows_no_traceback(command: list[str], number: signal.Signals, tmp_path: Path) -> None:
    moments = random.Random(f"{command[0]} {number}")
    with ranger_admin() as (server, _):
        settings = configuration(tmp_path, server.url)
        for _ in range(8):
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, "--config", str(settings), *command],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert process.stdout is not None
            assert process.stdout.readline() == "begins\n"
            for _ in range(2):  # as somebody does who is impatient
                try:
                    process.wait(moments.uniform(0, LONGEST_RUN))
                except subprocess.TimeoutExpired:
                    process.send_signal(number)
            output, errors = process.communicate(timeout=60)
            assert "Traceback" not in output + errors
            assert "Exception ignored" not in errors
            assert process.returncode in (ExitCode.OK, 128 + number, -number), errors
