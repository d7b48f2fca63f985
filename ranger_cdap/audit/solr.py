"""Sink for Ranger's Solr collection, shown by the *Audit* page of Ranger Admin."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final

import msgspec

from ranger_cdap.audit.index_exchange import account_text, index_exchange, one_line
from ranger_cdap.audit.indexed import document
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.config import Address, Secret
from ranger_cdap.errors import AuditRefused, AuditSinkError
from ranger_cdap.policies.client.exchange import NoResponse, TooLarge, TooSlow

_LARGEST_ANSWER: Final = 1 << 20
_SEEN_WITHIN_MS: Final = 15_000


class SolrSink:
    """Sink for a Solr collection; TLS is verified.

    Records go to the first of the addresses that takes them; the password goes to every one that is tried.

    Raises:
        ConfigError: the password's file or the file of certificates cannot be used.
    """

    def __init__(self, urls: Sequence[Address], username: str, password: Secret, *, ca_file: str | None = None) -> None:
        self._urls = list(urls)
        self._exchange = index_exchange(username, password, ca_file)
        self._username = username

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Add the records; Solr replaces records of the same id, so sending twice changes nothing.

        Raises:
            AuditRefused: Solr rejects them (400).
            AuditSinkError: no node is available, or one rejects the account.
        """
        body = msgspec.json.encode([document(record) for record in records])
        problems: list[str] = []
        for url in tuple(self._urls):
            problem = self._problem(url, body)
            if not problem:
                return
            self._urls.append(self._urls.pop(0))
            problems.append(problem)
        raise AuditSinkError("; ".join(problems))

    def _problem(self, url: Address, body: bytes) -> str:
        """Send the records to one node; return why another should be tried, empty if it has them."""
        try:
            status, answer = self._exchange.ask(
                url,
                "POST",
                "/update",
                query={"commitWithin": str(_SEEN_WITHIN_MS), "wt": "json"},
                body=body,
                headers={"Content-Type": "application/json"},
                largest=_LARGEST_ANSWER,
            )
        except (NoResponse, TooLarge, TooSlow) as e:
            return f"Solr at `{url}` cannot be reached: {e}"
        if status == HTTPStatus.BAD_REQUEST:
            raise AuditRefused(f"Solr at `{url}` rejects audit records: {one_line(answer)}")
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise AuditSinkError(
                f"Solr at `{url}` rejects {account_text(self._username)} (HTTP {status}): check `audit.solr_username` "
                "and `audit.solr_password`"
            )
        if status != HTTPStatus.OK or not _succeeded(answer):
            return f"Solr at `{url}` returned HTTP {status}: {one_line(answer)}"
        return ""

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
