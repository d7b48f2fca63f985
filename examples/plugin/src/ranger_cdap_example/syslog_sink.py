"""The audit sink `syslog`: one message per record, as JSON, to a syslog daemon."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

import msgspec

from ranger_cdap.audit import AuditRecord, AuditSink
from ranger_cdap.config import Settings
from ranger_cdap.errors import ConfigError

VARIABLE = "RANGER_CDAP_EXAMPLE_SYSLOG"
DEFAULT = "127.0.0.1:514"
_AUTHPRIV_INFO = 10 * 8 + 6


class SyslogSink:
    """Sink for the facility `authpriv` over UDP; a failure raises, so that the records are kept and retried."""

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._encode = msgspec.json.Encoder().encode

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Send each record; JSON escapes line breaks, so no name can begin another message."""
        for record in records:
            message = b"<%d>ranger-cdap: %s" % (_AUTHPRIV_INFO, self._encode(record))
            self._socket.sendto(message, self._address)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def syslog_sink(_: Settings) -> AuditSink:
    """Return the sink for the daemon in the environment variable.

    Raises:
        ConfigError: the address is not HOST:PORT.
    """
    host, colon, port = os.environ.get(VARIABLE, DEFAULT).rpartition(":")
    if not (host and colon and port.isdecimal()):
        raise ConfigError(f"environment variable `{VARIABLE}` must be HOST:PORT")
    return SyslogSink(host, int(port))
