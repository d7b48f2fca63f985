"""Sinks for audit records: a rotated file, the log, Solr and Elasticsearch; plugins add others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

import msgspec

from ranger_cdap.audit.file import FileSink
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.config import Settings, addresses
from ranger_cdap.config.address import ELASTICSEARCH, SOLR, checked_address
from ranger_cdap.errors import ConfigError


class AuditSink(Protocol):
    """Destination of audit records; called from one thread at a time."""

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Store the records or raise: `AuditRefused` if some are rejected for good, else all are sent again."""

    def close(self) -> None:
        """Release all resources."""


SinkFactory = Callable[[Settings], AuditSink]
_FILE_BYTES: Final = 100_000_000
_records = logging.getLogger("ranger_cdap.audit.records")


class LogSink:
    """Sink that logs each record as one line of JSON to `ranger_cdap.audit.records`, level INFO."""

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Log each record; JSON escapes line breaks, so a hostile name cannot forge a line."""
        for record in records:
            _records.info("%s", msgspec.json.encode(record).decode())

    def close(self) -> None:
        """Do nothing; there is nothing to release."""


def _file_sink(settings: Settings) -> AuditSink:
    audit = settings.audit
    return FileSink(
        audit.file,
        max_bytes=_FILE_BYTES,
        keep=audit.file_keep,
        durable=audit.required,
        chain=audit.chain,
    )


def _solr_sink(settings: Settings) -> AuditSink:
    audit = settings.audit
    if not audit.solr_url:
        raise ConfigError("the audit sink `solr` needs the setting `audit.solr_url`, the address of the collection")
    # The client for HTTP is a third of a command's start.
    from ranger_cdap.audit.solr import SolrSink

    network = settings.network
    urls = [checked_address(url, SOLR, network.plain_hosts) for url in addresses(audit.solr_url) or ("",)]
    return SolrSink(urls, audit.solr_username, audit.solr_password, ca_file=network.ca_file)


def _elasticsearch_sink(settings: Settings) -> AuditSink:
    audit = settings.audit
    if not audit.elasticsearch_url:
        raise ConfigError("the audit sink `elasticsearch` needs the setting `audit.elasticsearch_url`")
    from ranger_cdap.audit.elasticsearch import ElasticsearchSink

    network = settings.network
    return ElasticsearchSink(
        [checked_address(url, ELASTICSEARCH, network.plain_hosts) for url in addresses(audit.elasticsearch_url)],
        audit.elasticsearch_index,
        audit.elasticsearch_username,
        audit.elasticsearch_password,
        ca_file=network.ca_file,
    )


BUILT_IN_SINKS: dict[str, SinkFactory] = {
    "file": _file_sink,
    "log": lambda _: LogSink(),
    "solr": _solr_sink,
    "elasticsearch": _elasticsearch_sink,
}
