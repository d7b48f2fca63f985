"""Entry point of the command `ranger-cdap`, also as `python -m ranger_cdap`."""

from __future__ import annotations

import signal
import sys

_INTERRUPTED = 130


def run() -> None:
    """Run the console script; Ctrl-C shows no traceback, not even while modules are loaded or Python ends."""
    interruptible = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not in a shell's background
    if interruptible:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ranger_cdap.cli.main import run as run_command

    try:
        if interruptible:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        run_command()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    finally:
        if interruptible:
            signal.signal(signal.SIGINT, signal.SIG_DFL)


if __name__ == "__main__":
    run()
