"""Sink for Ranger's Solr collection, shown by the *Audit* page of Ranger Admin."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from ranger_cdap.audit.indexed import document
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.config import Secret
from ranger_cdap.config.address import SOLR, checked_address
from ranger_cdap.errors import AuditRefused, AuditSinkError
from ranger_cdap.policies.client.exchange import Exchange, NoResponse, TooLarge, TooSlow
from ranger_cdap.policies.client.sign_in import BasicAuth, TlsFiles

_CONNECT_SECONDS: Final = 5.0
_READ_SECONDS: Final = 30.0
_LARGEST_ANSWER: Final = 1 << 20
_SEEN_WITHIN_MS: Final = 15_000
_LONGEST_ANSWER: Final = 200


class SolrSink:
    """Sink for a Solr collection, like `https://solr:8983/solr/ranger_audits`; TLS is verified.

    Raises:
        ConfigError: the address, the password's file or the file of certificates cannot be used.
    """

    def __init__(
        self,
        url: str,
        username: str,
        password: Secret,
        *,
        ca_file: str | None = None,
        allow_plain_http: bool = False,
    ) -> None:
        self._url = checked_address(url, SOLR, allow_plain_http=allow_plain_http)
        self._exchange = Exchange(TlsFiles(ca_file), connect_timeout=_CONNECT_SECONDS, read_timeout=_READ_SECONDS)
        self._username = username
        if username:
            password.reveal()  # an unreadable password ends the start, not the delivery of records
            self._exchange.session.auth = BasicAuth(username, password)

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Add the records; Solr replaces records of the same id, so sending twice changes nothing.

        Raises:
            AuditRefused: Solr rejects them (400).
            AuditSinkError: Solr is unavailable, or returns anything but success.
        """
        body = msgspec.json.encode([document(record) for record in records])
        try:
            status, answer = self._exchange.ask(
                self._url,
                "POST",
                "/update",
                query={"commitWithin": str(_SEEN_WITHIN_MS), "wt": "json"},
                body=body,
                headers={"Content-Type": "application/json"},
                largest=_LARGEST_ANSWER,
            )
        except (NoResponse, TooLarge, TooSlow) as e:
            raise AuditSinkError(f"Solr at `{self._url}` cannot be reached: {e}") from None
        if status == HTTPStatus.BAD_REQUEST:
            raise AuditRefused(f"Solr at `{self._url}` rejects audit records: {_one_line(answer)}")
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            account = f"account `{self._username}`" if self._username else "requests without an account"
            raise AuditSinkError(
                f"Solr at `{self._url}` rejects {account} (HTTP {status}): check `audit.solr_username` and "
                "`audit.solr_password`"
            )
        if status != HTTPStatus.OK or not _succeeded(answer):
            raise AuditSinkError(f"Solr at `{self._url}` returned HTTP {status}: {_one_line(answer)}")

    def close(self) -> None:
        """Close the session."""
        self._exchange.close()


def _succeeded(answer: bytes) -> bool:
    """Return true if Solr reports success; a login page also has status 200."""
    try:
        status: object = msgspec.json.decode(answer)["responseHeader"]["status"]
    except (msgspec.DecodeError, ValueError, KeyError, TypeError, RecursionError):
        return False
    return status == 0


def _one_line(answer: bytes) -> str:
    return " ".join(answer[:_LONGEST_ANSWER].decode(errors="replace").split()) or "nothing"
