"""CDAP's messaging service by HTTP: nothing lost, nothing asked twice for long, faults told in a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.datasource import InputPartition

from ranger_cdap.config import NetworkSettings, SourceSettings
from ranger_cdap.errors import CdapError, CdapUnreachable, ConfigError, SyncError
from spark_sync.ingest.reading import SourceReader
from spark_sync.sources.messaging import MessagingReader, Topic, check
from tests.spark_sync.sources.messaging_service import MessagingService, message_id, messaging_service
from tests.spark_sync.sources.reading import read_line

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOW = 1_795_233_666_254
SPARK_NOW = 1_900_000_000_000


def audit(dataset: str, kind: str = "CREATE", time: int = NOW) -> str:
    entity = {"details": {"namespace": "ns1", "dataset": dataset}, "type": "dataset"}
    return json.dumps(
        {"version": 2, "time": time, "metadataEntity": entity, "user": "alice", "type": kind, "payload": {}}
    )


@pytest.fixture
def service() -> Iterator[MessagingService]:
    with messaging_service() as running:
        yield running


@pytest.fixture
def topic(service: MessagingService) -> Topic:
    return Topic({"url": service.url, "topic": "audit", "read_timeout": "0.5"})


def test_all_messages_come_in_their_order_in_pages(service: MessagingService, topic: Topic) -> None:
    for n in range(2500):
        service.publish(f"m{n}", NOW)
    assert [message.payload for message in topic.after(None)] == [f"m{n}".encode() for n in range(2500)]
    # The end is where a page is empty: a page may be short for other reasons.
    assert [limit for _, _, limit in service.polls] == [1000] * 4
    assert [inclusive for start, inclusive, _ in service.polls if start] == [False] * 3


@pytest.mark.parametrize(
    ("ages", "most"),
    [([], 7), ([0], 2), ([10 * 86_400_000], 7), ([100 * 86_400_000, 86_400_000, 30_000], 2)],
    ids=["empty", "just now", "ten days ago", "old ones and a new one"],
)
def test_the_last_message_is_found_without_reading_all(
    service: MessagingService, topic: Topic, ages: list[int], most: int
) -> None:
    published = [service.publish("m", NOW - age) for age in ages]
    assert topic.last(NOW) == (published[-1] if published else None)
    assert len(service.polls) <= most


@pytest.mark.parametrize("skew", [-3_600_000, 3_600_000])
def test_our_clock_need_not_be_right(service: MessagingService, topic: Topic, skew: int) -> None:
    last = [service.publish("m", NOW - age) for age in (200_000, 100_000, 0)][-1]
    assert topic.last(NOW + skew) == last


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        ("slow", CdapUnreachable, "no answer within the time-out"),
        ("garbage", CdapError, "is not one of CDAP's messaging service"),
        ("500", CdapUnreachable, "answers 500"),
        ("redirect", CdapError, "a redirect .302., which is not followed"),
        ("404", CdapError, "has no topic `elsewhere`"),
    ],
)
def test_a_fault_is_an_error(service: MessagingService, fault: str, error: type[CdapError], message: str) -> None:
    name = "elsewhere" if fault == "404" else "audit"
    topic = Topic({"url": service.url, "topic": name, "read_timeout": "0.2"})
    service.fault = fault
    with pytest.raises(error, match=message) as caught:
        topic.last(NOW)
    assert "stack trace" not in str(caught.value)


def test_nobody_there() -> None:
    with pytest.raises(CdapUnreachable, match="the connection was refused"):
        Topic({"url": "http://127.0.0.1:9", "topic": "audit"}).last(NOW)


def test_a_server_that_repeats_itself_ends_the_reading(service: MessagingService, topic: Topic) -> None:
    name = service.publish("m", NOW)
    service.page = lambda start, limit: [(name, b"m")]  # type: ignore[method-assign]
    with pytest.raises(CdapError, match="repeats the same messages"):
        list(topic.after(None))


def test_the_token_goes_to_cdap_and_stays_out_of_what_spark_keeps(service: MessagingService, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t0ken\n")
    reader = MessagingReader({"url": service.url, "topic": "audit", "token_file": str(tmp_path / "token")})
    reader.latestOffset()
    assert service.headers[-1]["Authorization"] == "Bearer t0ken"
    assert "t0ken" not in repr(vars(reader))


def test_a_span_ends_with_its_last_message(service: MessagingService) -> None:
    ids = [service.publish(f"m{n}", NOW) for n in range(5)]
    reader = MessagingReader({"url": service.url, "topic": "audit"})
    (span,) = reader.partitions({"after": ids[0].hex()}, {"after": ids[3].hex()})
    assert [line for line, _, _ in reader.read(span)] == ["m1", "m2", "m3"]
    assert [place for _, place, _ in reader.read(span)] == [f"{service.url}/audit/{name.hex()}" for name in ids[1:4]]


def test_bytes_that_are_no_utf_8_are_no_message_whatever_is_around_them(service: MessagingService) -> None:
    ids = [service.publish(audit("d").replace("alice", "al?ice").encode().replace(b"?", b"\xff"), NOW)]
    reader = MessagingReader({"url": service.url, "topic": "audit"})
    (span,) = reader.partitions({"after": ""}, {"after": ids[0].hex()})
    (line,) = [line for line, _, _ in reader.read(span)]
    assert read_line("audit-messaging", line).rejected == "not one JSON object"
    assert "al\ufffdice" in line


def test_messages_that_cdap_dropped_are_no_reason_to_stop(service: MessagingService) -> None:
    service.publish("m", NOW)
    reader = MessagingReader({"url": service.url, "topic": "audit"})
    gone = InputPartition((message_id(NOW - 2).hex(), message_id(NOW - 1).hex()))
    assert [line for line, _, _ in reader.read(gone)] == ["m"]


def test_nothing_new_is_no_task(service: MessagingService) -> None:
    reader = MessagingReader({"url": service.url, "topic": "audit"})
    assert reader.initialOffset() == reader.latestOffset() == {"after": ""}
    assert list(reader.partitions({"after": ""}, {"after": ""})) == []
    assert list(reader.partitions({"after": "aa"}, {"after": "aa"})) == []
    assert list(reader.partitions({"after": "aa"}, {"after": ""})) == []  # CDAP has dropped all


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "needs `url`"),
        ({"url": "cdap:1"}, "must be an address like"),
        ({"url": "http://me:word@cdap:1"}, "must not hold a user name or password"),
        ({"url": "https://cdap:1", "topic": ""}, "needs `url`"),
    ],
)
def test_settings(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        check(SourceSettings(name="m", kind="audit-messaging", **given))
    assert "word@" not in str(caught.value)


def test_without_tls_a_topic_is_read_from_a_named_host_only() -> None:
    options = {"url": "http://cdap:1", "topic": "audit"}
    with pytest.raises(ConfigError, match=r"add `cdap` to `network\.plain_hosts`"):
        Topic(options | {"plain_hosts": "other,cdap.example"})
    Topic(options | {"plain_hosts": "other,cdap"})


@pytest.mark.spark
def test_each_run_reads_what_is_new(spark: SparkSession, service: MessagingService, tmp_path: Path) -> None:
    run = stream(spark, service, tmp_path)
    assert run() == []
    first = [service.publish(audit(f"d{n}", time=NOW + n), NOW + n) for n in range(1200)]
    assert run() == [f"CREATE dataset:ns1.d{n}" for n in range(1200)]
    assert run() == []
    # As after a kill before the commit: Spark asks for the same span again.
    last_commit = max((tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    service.publish(audit("d7", "DELETE", NOW + 5000), NOW + 5000)
    service.publish(b"\xff garbage", NOW + 5001)
    assert run() == ["DELETE dataset:ns1.d7", "dead: not one JSON object"]
    for path in last_commit.parent.iterdir():
        if path.name.strip(".").partition(".")[0].isdigit() and int(path.name.strip(".").partition(".")[0]) > int(
            last_commit.name
        ):
            path.unlink()
    assert run() == ["DELETE dataset:ns1.d7", "dead: not one JSON object"]
    assert len(first) == 1200


@pytest.mark.spark
def test_a_batch_is_fetched_once_whatever_is_in_it(
    spark: SparkSession, service: MessagingService, tmp_path: Path
) -> None:
    batches: list[tuple[int, int]] = []
    run = stream(spark, service, tmp_path, batches)
    for n in range(1200):
        service.publish(audit(f"d{n}", time=NOW + n), NOW + n)
    service.publish(b"garbage", NOW + 2000)
    assert run() == [*(f"CREATE dataset:ns1.d{n}" for n in range(1200)), "dead: not one JSON object"]
    assert batches == [(1201, 2)], "1,201 lines in two pages"


@pytest.mark.spark
def test_a_fault_ends_the_run_and_loses_nothing(spark: SparkSession, service: MessagingService, tmp_path: Path) -> None:
    run = stream(spark, service, tmp_path)
    service.publish(audit("d"), NOW)
    service.fault = "garbage"
    with pytest.raises(CdapError, match="CDAP's messaging service"):
        run()
    service.fault = ""
    assert run() == ["CREATE dataset:ns1.d"]


@pytest.mark.spark
def test_a_fault_in_the_middle_is_one_sentence_too(
    spark: SparkSession, service: MessagingService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stream(spark, service, tmp_path)
    service.publish(audit("d"), NOW)
    page = service.page

    def once(start: bytes | int | None, limit: int) -> list[tuple[bytes, bytes]]:
        service.fault = "garbage"
        return page(start, limit)

    monkeypatch.setattr(service, "page", once)
    with pytest.raises(SyncError, match=r"^Spark failed with STREAM_FAILED: [^\n]*$"):
        run()
    monkeypatch.undo()
    service.fault = ""
    assert run() == ["CREATE dataset:ns1.d"]


def stream(
    spark: SparkSession, service: MessagingService, directory: Path, batches: list[tuple[int, int]] | None = None
) -> Callable[[], list[str]]:
    """One run as the job does it; what it found, in the order of time. `batches`: lines and requests of each batch."""
    from spark_sync.sources.registry import event_sources
    from spark_sync.spark.spark_errors import spark_errors

    settings = SourceSettings(name="m", kind="audit-messaging", url=service.url)
    source = event_sources()[settings.kind]
    reader = SourceReader(source.reader, settings, "cdap", SPARK_NOW)

    def run() -> list[str]:
        found: list[str] = []

        def take(batch: Any, _: int) -> None:
            before = len(service.polls)
            readings = batch.rdd.mapPartitions(reader.messages).collect()
            rows = [row for reading in readings for row in reading.events.to_pylist()]
            once = {row["id"]: row for row in rows}.values()
            found.extend(f"{row['kind']} {row['entity']}" for row in sorted(once, key=itemgetter("time")))
            found.extend(f"dead: {letter.reason}" for reading in readings for letter in reading.letters)
            if batches is not None:
                batches.append((sum(reading.lines for reading in readings), len(service.polls) - before))

        with spark_errors():
            query = (
                source.stream(spark, settings, NetworkSettings())
                .writeStream.trigger(availableNow=True)
                .option("checkpointLocation", str((directory / "checkpoint").absolute()))
                .foreachBatch(take)
                .start()
            )
            query.awaitTermination()
        return found

    return run
