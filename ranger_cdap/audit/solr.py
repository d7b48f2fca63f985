"""Sink for Ranger's Solr collection, shown by the *Audit* page of Ranger Admin."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from ranger_cdap.audit.index_document import document
from ranger_cdap.audit.index_servers import IndexProduct, IndexServers
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.config import Address, Secret
from ranger_cdap.ranger_model.json_text import Undecodable, decode

_SEEN_WITHIN_MS: Final = 15_000


class SolrSink:
    """Sink for a Solr collection, on `IndexServers`.

    Raises:
        ConfigError: the password's file or the file of certificates cannot be used.
    """

    def __init__(self, urls: Sequence[Address], username: str, password: Secret, *, ca_file: str | None = None) -> None:
        self._servers = IndexServers(_SOLR, urls, username, password, ca_file)

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Add the records; Solr replaces records of the same id, so sending twice changes nothing.

        Raises:
            AuditRefused: Solr rejects them (400).
            AuditSinkError: no node is available, or one rejects the account.
        """
        body = msgspec.json.encode([document(record) for record in records])
        self._servers.ask(
            "POST", "/update", body, "application/json", {"commitWithin": str(_SEEN_WITHIN_MS), "wt": "json"}
        )

    def close(self) -> None:
        """Close the session."""
        self._servers.close()


def _succeeded(answer: bytes) -> bool:
    """Return true if Solr reports success; a login page also has status 200."""
    try:
        status: object = decode(answer)["responseHeader"]["status"]
    except (Undecodable, KeyError, TypeError):
        return False
    return status == 0


_SOLR: Final = IndexProduct("Solr", "audit.solr", HTTPStatus.BAD_REQUEST, _succeeded)
