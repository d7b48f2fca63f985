"""Topic `audit` of CDAP's messaging service, read by HTTP: CDAP's audit messages from CDAP 4.1 on.

The service has no authorization and is not behind the router, so this runs inside CDAP's network. An offset is the id
of the last message read, in hexadecimal digits; CDAP keeps messages for some days (7 by default).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from ranger_cdap.config import NetworkSettings, SourceSettings
from ranger_cdap.config.address import SOURCE, parsed_address
from ranger_cdap.errors import CdapError, CdapNotFound, ConfigError
from spark_sync.sources.avro import TopicMessage, messages, poll_request
from spark_sync.sources.cdap_http import CdapHttp, bearer_token
from spark_sync.sources.source import LINES

FORMAT: Final = "cdap-messaging"
_PAGE: Final = 1000
_CONTENT_TYPE: Final = "avro/binary"
# Milliseconds by which the search for the topic's end starts back; each further try goes `_FURTHER` times as far.
_FIRST_STEP: Final = 60_000
_FURTHER: Final = 30

Row = tuple[str, str, int]


def check(settings: SourceSettings) -> None:
    """Check the settings of a source that reads CDAP's messaging service.

    Raises:
        ConfigError: the address, the topic or the token is missing or not usable.
    """
    if not settings.url or not settings.topic:
        raise ConfigError(f"source `{settings.name}` needs `url`, the address of CDAP's messaging service, and `topic`")
    parsed_address(settings.url, SOURCE)
    if settings.token_file is not None:
        bearer_token(settings.token_file)


def read(spark: SparkSession, settings: SourceSettings, network: NetworkSettings) -> DataFrame:
    """Return the messages as lines; their position is the message id.

    Raises:
        CdapError: CDAP is unavailable or its answer invalid; later failures are errors of Spark.
    """
    spark.dataSource.register(MessagingSource)
    options = {"url": settings.url, "topic": settings.topic, "plain_hosts": ",".join(network.plain_hosts)}
    # Paths, not contents: Spark keeps options in its plans.
    files = {"token_file": settings.token_file, "ca_file": network.ca_file and Path(network.ca_file)}
    options |= {name: str(path.absolute()) for name, path in files.items() if path}
    next(Topic(options).after(time.time_ns() // 1_000_000), None)
    return spark.readStream.format(FORMAT).options(**options).load()


class Topic:
    """A topic of the namespace `system`.

    Raises:
        ConfigError: an option cannot be used.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        token_file = options.get("token_file")
        self._http = CdapHttp(
            options["url"],
            setting=SOURCE,
            network=NetworkSettings(
                ca_file=options.get("ca_file"), plain_hosts=tuple(options.get("plain_hosts", "").split(","))
            ),
            token_file=Path(token_file) if token_file else None,
            read_timeout=float(options.get("read_timeout", "30")),
        )
        self._topic = options["topic"]

    def after(self, start: bytes | int | None) -> Iterator[TopicMessage]:
        """Return the messages after an id, from a time, or all, in order, until there are no more.

        Raises:
            CdapError: CDAP is unavailable or its answer invalid.
        """
        while page := self._page(start):
            yield from page
            start = page[-1].id

    def last(self, now: int) -> bytes | None:
        """Return the id of the last message; `None` if the topic is empty. Reads few messages if some are recent.

        Raises:
            CdapError: CDAP is unavailable or its answer invalid.
        """
        step = _FIRST_STEP
        while step < now:
            if (found := self._last_of(now - step)) is not None:
                return found
            step *= _FURTHER
        return self._last_of(None)

    def _last_of(self, start: int | None) -> bytes | None:
        last = deque(self.after(start), maxlen=1)
        return last[0].id if last else None

    def _page(self, start: bytes | int | None) -> list[TopicMessage]:
        path = f"/v1/namespaces/system/topics/{self._topic}/poll"
        try:
            body = self._http.post(path, poll_request(start, limit=_PAGE), _CONTENT_TYPE)
        except CdapNotFound:
            raise CdapNotFound(
                f"`{self._http.url}` has no topic `{self._topic}`; is it the address of CDAP's messaging service?"
            ) from None
        try:
            page = list(messages(body))
        except ValueError as e:
            raise CdapError(f"the answer of `{self._http.url}` is not one of CDAP's messaging service: {e}") from None
        if page and page[-1].id == start:
            raise CdapError(f"`{self._http.url}` repeats the same messages")
        return page


class MessagingSource(DataSource):
    """Spark's view of a topic: the columns of `LINES`."""

    @classmethod
    def name(cls) -> str:
        """Return the format by which Spark finds it."""
        return FORMAT

    def schema(self) -> str:
        """Return the columns of `LINES`."""
        return LINES

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802  (Spark's name)
        """Return a reader that starts at the first message that CDAP still has."""
        return MessagingReader(self.options)


class MessagingReader(DataSourceStreamReader):
    """Offsets are `{"after": id}`, empty before the first message; a batch is one span, read by one task in pages.

    A span is the messages after an id (all if empty), up to another one; ids in hexadecimal digits.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the offset before the first message."""
        return {"after": ""}

    # Before PySpark 4.2 it is called without arguments.
    def latestOffset(self, start: dict[str, Any] | None = None, limit: object = None) -> dict[str, Any]:  # noqa: N802
        """Return the offset after the last current message, which does not depend on where reading begins."""
        last = Topic(self._options).last(time.time_ns() // 1_000_000)
        return {"after": last.hex() if last else ""}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """Return a single span, because pages must be read in order."""
        if not end["after"] or start["after"] == end["after"]:
            return []
        return [InputPartition((start["after"], end["after"]))]

    def read(self, partition: InputPartition) -> Iterator[Row]:
        """Return the messages of a span, without those that CDAP has dropped since.

        If it dropped the last one, newer messages are read too, and again by the next batch: an event counts once.
        """
        start, end = map(bytes.fromhex, partition.value)
        place = f"{self._options['url']}/{self._options['topic']}"
        for message in Topic(self._options).after(start or None):
            yield _line(message.payload), f"{place}/{message.id.hex()}", 0
            if message.id == end:
                return

    def commit(self, end: dict[str, Any]) -> None:
        """Do nothing: CDAP expires messages itself."""

    def stop(self) -> None:
        """Do nothing: no connection is kept open."""


def _line(payload: bytes) -> str:
    """Return the message as a line; one that is not UTF-8 as a line that is certainly not JSON."""
    try:
        return payload.decode()
    except UnicodeDecodeError:
        return "\ufffd" + payload.decode(errors="replace")
