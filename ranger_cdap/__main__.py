"""Entry point of the command `ranger-cdap`, also as `python -m ranger_cdap`."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn


def run() -> None:
    """Run the console script; Ctrl-C shows no traceback, not even while modules are loaded or Python ends.

    SIGTERM ends a command as Ctrl-C does, also where it is process 1 of a container, which ignores it otherwise.
    """
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not in a shell's background
    terminable = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    if interruptible:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ranger_cdap.cli.exit_codes import ExitCode, Terminated
    from ranger_cdap.cli.main import run as run_command

    def terminate(_number: int, _frame: FrameType | None) -> NoReturn:
        raise Terminated

    try:
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if terminable:
            signal.signal(signal.SIGTERM, terminate)
        run_command()
    except Terminated:
        sys.exit(ExitCode.TERMINATED)
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    finally:
        if interruptible:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        if terminable:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


if __name__ == "__main__":
    run()
