"""`ServerTls`: the certificate of a server, and the authorities whose client certificates it requires."""

from __future__ import annotations

import logging
import ssl
import time
from pathlib import Path
from typing import Any, Final

from ranger_cdap.config import ServiceSettings, WatchedFiles
from ranger_cdap.config.named_file import opened_for_library
from ranger_cdap.errors import ConfigError

_log = logging.getLogger(__name__)

_CIPHERS: Final = "DEFAULT:!aNULL"


class ServerTls(ssl.SSLContext):
    """TLS context of a listening socket: each connection uses the files as last read.

    asyncio keeps one context per socket, and authorities can only be added to a context. So this one holds no
    certificates itself: it creates each connection with the newest context. Sessions belong to a context, so those of a
    removed authority cannot be resumed. If the files are unusable, the ones read before stay in use.

    Raises:
        ConfigError: a file cannot be used.
    """

    def __new__(cls, settings: ServiceSettings) -> ServerTls:
        """Return a context for servers."""
        return super().__new__(cls, ssl.PROTOCOL_TLS_SERVER)

    def __init__(self, settings: ServiceSettings) -> None:
        self._settings = settings
        files = (settings.tls_certificate, settings.tls_key, settings.tls_client_ca)
        self._files = WatchedFiles(file for file in files if file is not None)
        self._newest = _read(settings)

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """Wrap a connection with the newest context; asyncio calls this for each connection."""
        made = self._newest.wrap_bio(incoming, outgoing, server_side, server_hostname, session)
        if isinstance(made, _ProvenClient):
            made.incoming, made.outgoing = incoming, outgoing
        return made

    def read_if_changed(self) -> None:
        """Use the current files for new connections, if they have changed."""
        self._files.if_changed(self._read_again)

    def has_made(self, connection: ssl.SSLObject) -> bool:
        """Return true if a connection was made with the current files; one that was not should end."""
        self.read_if_changed()
        return connection.context is self._newest

    def _read_again(self) -> None:
        try:
            self._newest = _read(self._settings)
        except ConfigError as e:
            _log.warning("the certificates were not read again, and those read before stay in use: %s", e)
        else:
            _log.info("the certificates were read again")


class _ProvenClient(ssl.SSLObject):
    """Handshake that succeeds only if the client presents a valid certificate of the context's authorities."""

    incoming: ssl.MemoryBIO
    outgoing: ssl.MemoryBIO
    _refused = False

    def do_handshake(self) -> None:
        """Perform the handshake; a rejected client gets the reason, and is then ignored."""
        if self._refused:
            self.incoming.read()
            raise ssl.SSLWantReadError
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLError as e:
            why = getattr(e, "verify_message", None) or e.reason
            _log.warning("a connection was refused; clients need a certificate of `service.tls_client_ca`: %s", why)
            if not self.outgoing.pending:
                raise
            self._refused = True
            # asyncio sends the alert with the reason only while the handshake seems to go on; its time-out ends that.
            raise ssl.SSLWantReadError from None
        # In TLS 1.2 a client may resume a session by its id, and OpenSSL does not check its certificate again.
        if self.session_reused and _has_expired(self.getpeercert() or {}):
            raise ssl.SSLCertVerificationError("the client certificate of a resumed session has expired")


def _has_expired(shown: dict[str, Any]) -> bool:
    return "notAfter" not in shown or ssl.cert_time_to_seconds(shown["notAfter"]) <= time.time()


def _read(settings: ServiceSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers(_CIPHERS)
    try:
        with opened_for_library(settings.tls_certificate) as chain, opened_for_library(settings.tls_key) as key:
            # Without a password for it, OpenSSL would prompt on the terminal.
            context.load_cert_chain(str(chain), key, lambda: "")
    except (OSError, ValueError) as e:
        key = f"`service.tls_key` `{settings.tls_key}`" if settings.tls_key is not None else "the key in it"
        raise ConfigError(
            f"`service.tls_certificate` `{settings.tls_certificate}` and {key} cannot be used: {_reason(e)}"
        ) from None
    if settings.tls_client_ca is not None:
        _require_certificates(context, settings.tls_client_ca)
    return context


def _require_certificates(context: ssl.SSLContext, file: Path) -> None:
    try:
        with opened_for_library(file) as authorities:
            context.load_verify_locations(authorities)
        why = "" if context.cert_store_stats()["x509"] else "it holds no certificate"
    except (OSError, ValueError) as e:
        why = _reason(e)
    if why:
        raise ConfigError(
            f"`service.tls_client_ca` `{file}` cannot be used: {why}; name a PEM file with the certificates of the "
            "authorities whose clients may connect"
        )
    context.verify_mode = ssl.CERT_REQUIRED
    # Only the authorities of the file: one of them need not be a root, and the root above it is not trusted.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    # A ticket would outlive the expiry of its certificate.
    context.num_tickets = 0
    context.options |= ssl.OP_NO_TICKET
    context.sslobject_class = _ProvenClient


def _reason(error: OSError | ValueError) -> str:
    return (
        getattr(error, "reason", None) or error.strerror or type(error).__name__
        if isinstance(error, OSError)
        else type(error).__name__
    )
