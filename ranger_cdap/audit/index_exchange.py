"""Connection of the sinks that fill an index by HTTP: the sign-in, and what their messages say of an answer."""

from __future__ import annotations

from typing import Final

from ranger_cdap.config import Secret
from ranger_cdap.policies.client.exchange import Exchange
from ranger_cdap.policies.client.sign_in import BasicAuth, TlsFiles

_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 30.0
_LONGEST_QUOTE: Final = 200


def index_exchange(username: str, password: Secret, ca_file: str | None) -> Exchange:
    """Return an exchange that signs in as the account, if one is named; TLS is verified.

    Raises:
        ConfigError: the password's file or the file of certificates cannot be used.
    """
    exchange = Exchange(TlsFiles(ca_file), connect_timeout=_CONNECT_SECONDS, read_timeout=_READ_SECONDS)
    if username:
        password.reveal()  # an unreadable password ends the start, not the delivery of records
        exchange.session.auth = BasicAuth(username, password)
    return exchange


def account_text(username: str) -> str:
    """Return whom a server has rejected, in a sentence: the account, or requests without one."""
    return f"account `{username}`" if username else "requests without an account"


def one_line(answer: bytes) -> str:
    """Return the beginning of an answer for a message, without line breaks."""
    return " ".join(answer[:_LONGEST_QUOTE].decode(errors="replace").split()) or "nothing"
