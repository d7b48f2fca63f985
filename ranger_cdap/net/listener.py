"""The listening socket of our servers, and the signals that stop them."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ranger_cdap.errors import ServerError, reason


def listen(address: str, port: int, *, backlog: int, advice: str) -> socket.socket:
    """Open a listening socket; connections wait in its backlog until they are accepted. Port 0 is any free port.

    Raises:
        ServerError: the port cannot be used; the message ends with the advice.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    # The protocol is explicit because asyncio sets TCP_NODELAY only for sockets that name TCP.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(backlog)
    except (OSError, OverflowError) as e:
        listener.close()
        why = reason(e) if isinstance(e, OSError) else e
        raise ServerError(f"port `{port}` on `{address}` cannot be used: {why}; {advice}") from None
    return listener


@contextmanager
def stop_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on each Ctrl-C and SIGTERM instead of raising or ending the program; in the main thread only.

    An exception, as `KeyboardInterrupt`, is lost where Python must not raise, and leaves behind half of what it meets.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: found for number in numbers if (found := signal.getsignal(number)) is not signal.SIG_IGN}
    try:
        for number in before:
            signal.signal(number, lambda *_: stop())
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
