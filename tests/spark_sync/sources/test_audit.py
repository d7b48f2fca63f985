"""Audit messages of CDAP until 5 (version 1) and since (version 2), from files and from Kafka."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ranger_cdap.config import Secret, SourceSettings
from ranger_cdap.errors import ConfigError
from tests.spark_sync.sources.reading import Found, found_in, numbered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RECORDED = Path(__file__).parents[2] / "data" / "cdap-audit-topic.jsonl"


def version_1(**changes: Any) -> str:
    message: dict[str, Any] = {
        "version": 1,
        "time": 1000,
        "entityId": {"namespace": "ns1", "dataset": "ds1", "entity": "DATASET"},
        "user": "user1",
        "type": "CREATE",
        "payload": {},
    }
    message |= changes
    return json.dumps({name: value for name, value in message.items() if value is not ...})


COUNTED: dict[str, tuple[str, Found | None]] = {
    "a dataset": (version_1(), ("CREATE", "dataset:ns1.ds1", "user1", 1000)),
    "its type under the other name": (
        version_1(time=2, entityId={"namespace": "ns1", "dataset": "ds2", "entityType": "dataset"}),
        ("CREATE", "dataset:ns1.ds2", "user1", 2),
    ),
    "a stream": (
        version_1(time=3, entityId={"namespace": "ns1", "stream": "s1", "entity": "STREAM"}),
        ("CREATE", "stream:ns1.s1", "user1", 3),
    ),
    "a stream that is deleted": (
        version_1(time=4, type="DELETE", entityId={"namespace": "ns1", "stream": "s1", "entity": "STREAM"}),
        ("DELETE", "stream:ns1.s1", "user1", 4),
    ),
    "truncated": (version_1(type="TRUNCATE"), None),
    "read by a program": (version_1(type="ACCESS", payload={"accessType": "READ"}), None),
    "an application": (
        version_1(entityId={"namespace": "ns1", "application": "a", "entity": "APPLICATION"}, type="METADATA_CHANGE"),
        None,
    ),
    "a stream as version 2 would tell of it": (
        json.dumps(
            {
                "version": 2,
                "time": 5,
                "metadataEntity": {"details": {"namespace": "ns1", "stream": "s1"}, "type": "stream"},
                "user": "user1",
                "type": "CREATE",
            }
        ),
        None,
    ),
}

REFUSED = {
    version_1(version=3): "unknown version `3`",
    version_1(version=...): "object missing required field `version`",
    version_1(entityId=...): "object missing required field `entityId`",
    version_1(entityId={"namespace": "ns1", "dataset": "d"}): "`entity` of `entityId` is missing or is no text",
    version_1(entityId={"namespace": "ns1", "entity": "DATASET"}): "`dataset:ns1.null` is not a valid CDAP name",
    version_1(user=...): "object missing required field `user`",
    version_1(time=0): "expected `int` >= 1 - at `time`",
    version_1(user=5): "expected `str`, got `int` - at `user`",
    version_1(time="1000"): "expected `int`, got `str` - at `time`",
    version_1()[:-1] + ', "user": "mallory"}': "field `user` is repeated",
    version_1()[:-1] + ', "us\\u0065r": "mallory"}': "field `user` is repeated",
    version_1(payload={"a": 1})[:-2] + ', "a": 2}}': "field `a` is repeated",
    version_1().replace('"', "'"): "not one JSON object",
    version_1(payload=float("nan")): "not one JSON object",
    version_1(entityId={"namespace": 1, "dataset": "d", "entity": "DATASET"}): "`dataset:1.d` is not a valid CDAP name",
    version_1() + version_1(): "not one JSON object",
}


def test_version_1() -> None:
    lines = [*(line for line, _ in COUNTED.values()), *REFUSED]
    events, dead = found_in("audit", numbered(lines))
    wanted: list[Found] = [found for _, found in COUNTED.values() if found]
    assert events == sorted(wanted, key=lambda found: found[3])
    assert [letter.reason for letter in dead] == list(REFUSED.values())


def test_what_a_real_cdap_wrote() -> None:
    lines = RECORDED.read_text(encoding="utf-8").splitlines()
    events, dead = found_in("audit", numbered(lines))
    assert dead == []
    recorded = [json.loads(line) for line in lines]
    told = [
        (m["type"], f"dataset:{'.'.join(m['metadataEntity']['details'].values())}", m["user"], m["time"])
        for m in recorded
        if m["metadataEntity"]["type"] == "dataset" and m["type"] in ("CREATE", "DELETE")
    ]
    local = [event for event in told if event[1].startswith("dataset:ns1.localkv.")]
    assert local, "the recording has a local dataset, which nobody gets"
    assert events == sorted(set(told) - set(local), key=lambda event: (event[3], event[1]))


@pytest.mark.spark
def test_messages_of_kafka_are_lines_with_their_place(spark: SparkSession) -> None:
    from spark_sync.sources.kafka import lines_of

    schema = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp"
    values = [version_1().encode(), None, b"\xff\xfe", version_1(time=2000).encode()]
    messages = spark.createDataFrame(
        [(None, value, "audit", 3, 40 + n, None) for n, value in enumerate(values)], schema
    )
    events, dead = found_in("audit-kafka", lines_of(messages).collect())
    assert [event[3] for event in events] == [1000, 2000]
    assert [(letter.file, letter.block, letter.reason) for letter in dead] == [
        ("kafka:audit/3", 41, "not one JSON object"),
        ("kafka:audit/3", 42, "not one JSON object"),
    ]


def kafka(**given: Any) -> SourceSettings:
    return SourceSettings(name="k", kind="audit-kafka", **({"bootstrap": "broker:9092"} | given))


def test_kafka_is_read_from_the_first_message_and_never_skips() -> None:
    from spark_sync.sources.kafka import check, options

    settings = kafka(topic="cdap-audit", options={"kafka.security.protocol": Secret("SSL")})
    check(settings)
    assert options(settings) == {
        "kafka.bootstrap.servers": "broker:9092",
        "subscribe": "cdap-audit",
        "startingOffsets": "earliest",
        "failOnDataLoss": "true",
        "kafka.security.protocol": "SSL",
    }


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (kafka(bootstrap=""), "needs `bootstrap`"),
        (kafka(topic=""), "needs `bootstrap`"),
        (kafka(options={"startingOffsets": Secret("latest")}), "option `startingOffsets` cannot be set"),
        (
            kafka(options={"Kafka.Bootstrap.Servers": Secret("other:1")}),
            "option `Kafka.Bootstrap.Servers` cannot be set",
        ),
        (kafka(options={"maxOffsetsPerTrigger": Secret("1")}), "option `maxOffsetsPerTrigger` cannot be set"),
    ],
)
def test_options_that_decide_what_is_read_are_not_settings(settings: SourceSettings, message: str) -> None:
    from spark_sync.sources.kafka import check

    with pytest.raises(ConfigError, match=message):
        check(settings)


def test_options_of_kafka_are_secrets(tmp_path: Path, settings_of: Callable[[str], Any]) -> None:
    (tmp_path / "jaas").write_text("Jaas-5ecret")
    settings = settings_of(
        '[[sync.sources]]\nname = "k"\nkind = "audit-kafka"\nbootstrap = "b:1"\n'
        f'[sync.sources.options]\n"kafka.sasl.jaas.config" = "file:{tmp_path / "jaas"}"\n'
    )
    assert settings.sync.sources[0].options == {"kafka.sasl.jaas.config": Secret("Jaas-5ecret")}
    assert "Jaas-5ecret" not in repr(settings)


@pytest.fixture
def settings_of(tmp_path: Path) -> Callable[[str], Any]:
    from ranger_cdap.config import load_settings

    def load(text: str) -> Any:
        path = tmp_path / "ranger-cdap.toml"
        path.write_text(text, encoding="utf-8")
        return load_settings(path, {})

    return load
