"""Sink for the index that Ranger's Elasticsearch destination fills, in Elasticsearch or OpenSearch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec

from ranger_cdap.audit.index_document import document
from ranger_cdap.audit.index_servers import IndexProduct, IndexServers, one_line
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.config import Address, Secret
from ranger_cdap.errors import AuditRefused, AuditSinkError, ConfigError
from ranger_cdap.ranger_model.json_text import decode

_PRODUCT: Final = IndexProduct(
    "Elasticsearch", "audit.elasticsearch", HTTPStatus.REQUEST_ENTITY_TOO_LARGE, accepts=lambda _: True
)
_NOT_IN_AN_INDEX: Final = frozenset(' "*\\<|,>/?#:')
_LONGEST_INDEX: Final = 255
_LONGEST_KEYWORD: Final = 32_766  # bytes of UTF-8, of Lucene
_FULL_TEXT: Final = frozenset({"reason"})
_CUT: Final = "…"
# Of one record, and as final as the whole: a later attempt has the same record, index and rights.
_REJECTED: Final = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE})


class _BulkError(msgspec.Struct):
    type: str = ""
    reason: str | None = None


class _BulkResult(msgspec.Struct):
    status: int
    id: str = msgspec.field(name="_id", default="")
    error: _BulkError | None = None


class _BulkItem(msgspec.Struct):
    index: _BulkResult


class _BulkAnswer(msgspec.Struct):
    errors: bool
    items: list[_BulkItem]


class ElasticsearchSink:
    """Sink for an index by the bulk API, on `IndexServers`.

    A record is a document under its id: one sent again replaces itself.

    Raises:
        ConfigError: the name of the index, the password's file or the file of certificates cannot be used.
    """

    def __init__(
        self, urls: Sequence[Address], index: str, username: str, password: Secret, *, ca_file: str | None = None
    ) -> None:
        _check_index(index)
        self._index = index
        self._servers = IndexServers(_PRODUCT, urls, username, password, ca_file)

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Index the records.

        Raises:
            AuditRefused: some are rejected, and named; all others are indexed.
            AuditSinkError: no server is available, one rejects the account, or it has no room for some of the records.
        """
        if not records:
            # The fields of the index: that needs address, TLS, account and index, and changes nothing.
            self._servers.ask("GET", f"/{self._index}/_mapping", None, "")
            return
        answer = self._servers.ask("POST", f"/{self._index}/_bulk", b"".join(_lines(records)), "application/x-ndjson")
        found = decode(
            answer,
            _BulkAnswer,
            lambda _: AuditSinkError(f"{self._servers.first} sends no answer of its bulk API: {one_line(answer)}"),
        )
        self._judge([item.index for item in found.items], records)

    def close(self) -> None:
        """Close the session."""
        self._servers.close()

    def _judge(self, results: Sequence[_BulkResult], records: Sequence[AuditRecord]) -> None:
        if [result.id for result in results] != [record.id for record in records]:
            raise AuditSinkError(f"{self._servers.first} does not report on each record")
        failed = [result for result in results if not HTTPStatus.OK <= result.status < HTTPStatus.MULTIPLE_CHOICES]
        later = [result for result in failed if result.status not in _REJECTED]
        if later:
            raise AuditSinkError(f"{self._servers.first} does not take some records: {_reason(later[0])}")
        if failed:
            raise AuditRefused(
                f"{self._servers.first} rejects audit records: {_reason(failed[0])}",
                [result.id for result in failed],
            )


def _lines(records: Sequence[AuditRecord]) -> Iterator[bytes]:
    """Yield the body of the bulk API; JSON escapes line breaks, so that a hostile name cannot begin a line."""
    for record in records:
        yield msgspec.json.encode({"index": {"_id": record.id}})
        yield b"\n"
        yield msgspec.json.encode({name: _fitting(name, value) for name, value in document(record).items()})
        yield b"\n"


def _fitting(name: str, value: Any) -> Any:
    """Cut a text that Elasticsearch would reject the document for: a long name must not hide an access."""
    if name in _FULL_TEXT or not isinstance(value, str) or len(value) * 4 <= _LONGEST_KEYWORD:
        return value
    content = value.encode()
    return (
        value
        if len(content) <= _LONGEST_KEYWORD
        else content[: _LONGEST_KEYWORD - len(_CUT.encode())].decode(errors="ignore") + _CUT
    )


def _check_index(name: str) -> None:
    """Check the name of an index by the rules of Elasticsearch.

    Raises:
        ConfigError: it is none.
    """
    is_one = name == name.lower() and name.isprintable() and not _NOT_IN_AN_INDEX & set(name)
    if not is_one or name[:1] in ("", "-", "_", "+", ".") or len(name.encode()) > _LONGEST_INDEX:
        raise ConfigError(f"`audit.elasticsearch_index` must be the name of an index in lower case, not {name[:100]!a}")


def _reason(result: _BulkResult) -> str:
    error = result.error or _BulkError()
    return one_line(f"HTTP {result.status} {error.type}: {error.reason or 'no reason'}".encode())
