"""Sink for the index that Ranger's Elasticsearch destination fills, in Elasticsearch or OpenSearch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec

from ranger_cdap.audit.index_exchange import account_text, index_exchange, one_line
from ranger_cdap.audit.indexed import document
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.config import Address, Secret
from ranger_cdap.errors import AuditRefused, AuditSinkError, ConfigError
from ranger_cdap.policies.client.exchange import NoResponse, TooLarge, TooSlow

_LARGEST_ANSWER: Final = 1 << 24
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
    """Sink for an index by the bulk API; TLS is verified.

    Records go to the first of the addresses that takes them; the password goes to every one that is tried. A record is
    a document under its id: one sent again replaces itself.

    Raises:
        ConfigError: the name of the index, the password's file or the file of certificates cannot be used.
    """

    def __init__(
        self, urls: Sequence[Address], index: str, username: str, password: Secret, *, ca_file: str | None = None
    ) -> None:
        _check_index(index)
        self._urls = list(urls)
        self._path = f"/{index}/_bulk"
        self._exchange = index_exchange(username, password, ca_file)
        self._username = username

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Index the records.

        Raises:
            AuditRefused: some are rejected, and named; all others are indexed.
            AuditSinkError: no server is available, one rejects the account, or it has no room for some of the records.
        """
        if not records:
            self._check()
            return
        body = b"".join(_lines(records))
        _, answer = self._asked("POST", self._path, body)
        try:
            found = msgspec.json.decode(answer, type=_BulkAnswer)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise AuditSinkError(f"`{self._urls[0]}` does not answer as Elasticsearch: {one_line(answer)}") from None
        self._judge([item.index for item in found.items], records)

    def close(self) -> None:
        """Close the session."""
        self._exchange.close()

    def _check(self) -> None:
        """Ask for the fields of the index, which needs address, TLS, account and index, and changes nothing."""
        self._asked("GET", f"{self._path.removesuffix('/_bulk')}/_mapping", None)

    def _judge(self, results: Sequence[_BulkResult], records: Sequence[AuditRecord]) -> None:
        if [result.id for result in results] != [record.id for record in records]:
            raise AuditSinkError(f"Elasticsearch at `{self._urls[0]}` does not tell of each record")
        failed = [result for result in results if not HTTPStatus.OK <= result.status < HTTPStatus.MULTIPLE_CHOICES]
        later = [result for result in failed if result.status not in _REJECTED]
        if later:
            raise AuditSinkError(f"Elasticsearch at `{self._urls[0]}` does not take some records: {_reason(later[0])}")
        if failed:
            raise AuditRefused(
                f"Elasticsearch at `{self._urls[0]}` rejects audit records: {_reason(failed[0])}",
                [result.id for result in failed],
            )

    def _asked(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        """Return the first successful answer; that server is asked first the next time."""
        problems: list[str] = []
        for url in tuple(self._urls):
            try:
                status, answer = self._exchange.ask(
                    url,
                    method,
                    path,
                    query=None,
                    body=body,
                    headers={"Content-Type": "application/x-ndjson"} if body else None,
                    largest=_LARGEST_ANSWER,
                )
            except (NoResponse, TooLarge, TooSlow) as e:
                problems.append(f"Elasticsearch at `{url}` cannot be reached: {e}")
            else:
                if status == HTTPStatus.OK:
                    return status, answer
                if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
                    raise AuditSinkError(
                        f"Elasticsearch at `{url}` rejects {account_text(self._username)} (HTTP {status}): check "
                        "`audit.elasticsearch_username` and `audit.elasticsearch_password`"
                    )
                if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:  # one by one they fit
                    raise AuditRefused(f"Elasticsearch at `{url}` rejects audit records: they are too large")
                problems.append(f"Elasticsearch at `{url}` returned HTTP {status}: {one_line(answer)}")
            self._urls.append(self._urls.pop(0))
        raise AuditSinkError("; ".join(problems))


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
    if len(content) <= _LONGEST_KEYWORD:
        return value
    return content[: _LONGEST_KEYWORD - len(_CUT.encode())].decode(errors="ignore") + _CUT


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
