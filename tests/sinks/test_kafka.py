"""Audit records to Kafka: settings that cannot be used, and whatever the producer does (a real one: tests/kafka)."""

from __future__ import annotations

import importlib.util
import json
import logging
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    NodeNotReadyError,
)

from ranger_cdap.audit import AuditSink
from ranger_cdap.config import AuditSettings, NetworkSettings, Settings
from ranger_cdap.config.secret import resolve_secret
from ranger_cdap.errors import AuditRefused, AuditSinkError, ConfigError
from ranger_cdap.sinks.kafka import KafkaSink
from ranger_cdap.sinks.plugin import ranger_cdap_audit_sinks
from tests.audit.samples import numbered

SERVERS = "kafka.test:9093"
PATIENCE = 5.0


def configured(**given_: Any) -> AuditSink:
    network = NetworkSettings(ca_file=given_.pop("ca_file", None), plain_hosts=given_.pop("plain_hosts", ()))
    audit = msgspec.structs.replace(AuditSettings(kafka_bootstrap=SERVERS), **given_)
    return ranger_cdap_audit_sinks()["kafka"](Settings(audit=audit, network=network))


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"kafka_bootstrap": ""}, "needs the setting `audit.kafka_bootstrap`"),
        ({"kafka_bootstrap": "kafka.test"}, "must be servers like `kafka1:9093,kafka2:9093`"),
        ({"kafka_bootstrap": "http://kafka.test:9093"}, "must be servers like"),
        ({"kafka_bootstrap": "user:secret@kafka.test:9093"}, "must be servers like"),
        ({"kafka_topic": ""}, "`audit.kafka_topic` must be the name of a topic"),
        ({"kafka_topic": "a/b"}, "must be the name of a topic"),
        ({"kafka_topic": ".."}, "must be the name of a topic"),
        ({"kafka_topic": "x" * 250}, "must be the name of a topic"),
        ({"kafka_key_file": "/k.pem"}, "`audit.kafka_cert_file` is not; set both, or neither"),
        ({"ca_file": "/no/such.pem"}, "/no/such.pem"),
        ({"kafka_username": "u", "kafka_password": resolve_secret("file:/no/such")}, "secret file `/no/such`"),
    ],
)
def test_a_setting_that_cannot_be_used_ends_the_start(given_: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configured(**given_)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"pip install 'ranger-cdap\[kafka\]'$"):
        configured()


@pytest.mark.parametrize(
    ("servers", "given_", "protocol"),
    [
        ("127.0.0.1:9092", {}, "PLAINTEXT"),
        ("127.0.0.1:9092,[::1]:9092", {"kafka_username": "u"}, "SASL_PLAINTEXT"),
        ("127.0.0.1:9092,kafka.test:9093", {}, "SSL"),
        ("localhost:9092", {}, "SSL"),
        (SERVERS, {"kafka_username": "u"}, "SASL_SSL"),
        (SERVERS, {"kafka_username": "u", "plain_hosts": ("Kafka.test",)}, "SASL_PLAINTEXT"),
        (f"127.0.0.1:9092,{SERVERS}", {"kafka_username": "u", "plain_hosts": ("kafka.test",)}, "SASL_PLAINTEXT"),
        (f"{SERVERS},other.test:9093", {"kafka_username": "u", "plain_hosts": ("kafka.test",)}, "SASL_SSL"),
    ],
)
def test_a_password_leaves_this_machine_by_tls_only(
    servers: str, given_: dict[str, Any], protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    options: list[dict[str, Any]] = []

    def producer(**configuration: Any) -> None:
        options.append(configuration)
        raise KafkaTimeoutError("nobody there")

    monkeypatch.setattr("kafka.KafkaProducer", producer)
    with pytest.raises(AuditSinkError):
        configured(kafka_bootstrap=servers, **given_).write([numbered(1)])
    (found,) = options
    assert found["security_protocol"] == protocol
    assert ("ssl_context" in found) == protocol.endswith("SSL")
    if "ssl_context" in found:
        assert found["ssl_context"].check_hostname
    assert (found["acks"], found["enable_idempotence"]) == ("all", True)


@pytest.mark.parametrize(("host", "is_dialled"), [("Kafka.test", True), ("127.0.0.1", True), ("other.test", False)])
def test_without_tls_no_host_is_dialled_that_only_a_server_names(
    host: str, is_dialled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[object] = []

    def producer(*, kafka_client: Any, **_: Any) -> None:
        cluster = kafka_client(bootstrap_servers=[f"{host}:9092"]).cluster
        try:
            found.append(cluster.broker_metadata(cluster.bootstrap_brokers()[0].node_id).host)
        except NodeNotReadyError:
            found.append(None)
        raise KafkaTimeoutError("nobody there")

    monkeypatch.setattr("kafka.KafkaProducer", producer)
    with pytest.raises(AuditSinkError) as caught:
        configured(plain_hosts=("kafka.test",)).write([numbered(1)])
    assert found == [host if is_dialled else None]
    assert ("`other.test`, which is not in `network.plain_hosts`" in str(caught.value)) is not is_dialled


# --- whatever it does, each record is there once, or rejected once ----------------------------------------------------

ACCEPTED, LOST, TOO_LARGE, UNSENT = "accepted", "lost", "too large", "unsent"
"""What becomes of a record: it is there; no answer and not there; rejected by the server; the connection ends."""


class Future:
    def __init__(self, exception: KafkaError | None, *, is_done: bool = True) -> None:
        self.exception, self.is_done = exception, is_done

    def succeeded(self) -> bool:
        return self.is_done and self.exception is None


class ScriptedProducer:
    """A topic behind a producer that does as a script says, then as it should."""

    def __init__(self, script: list[str], poison: set[str]) -> None:
        self._script = script
        self._poison = poison
        self.topic: list[str] = []

    def send(self, _: str, value: bytes, __: bytes) -> Future:
        name = json.loads(value)["id"]
        if name in self._poison:
            raise MessageSizeTooLargeError
        match self._script.pop(0) if self._script else ACCEPTED:
            case "accepted":
                self.topic.append(name)
                return Future(None)
            case "lost":
                return Future(None, is_done=False)
            case "too large":
                return Future(MessageSizeTooLargeError())
            case _:
                raise KafkaConnectionError("closed")

    def partitions_for(self, _: str) -> set[int]:
        return {0}

    def flush(self, _: float) -> None:
        if self._script and self._script[0] == LOST:
            self._script.pop(0)
            raise KafkaTimeoutError("not flushed")

    def close(self, timeout: float) -> None:
        assert timeout <= PATIENCE


@given(
    st.lists(st.sampled_from([ACCEPTED, ACCEPTED, LOST, UNSENT]), max_size=12),
    st.integers(1, 8),
    st.sets(st.integers(0, 8)),
)
def test_each_record_is_sent_or_rejected_once(script: list[str], count: int, poison: set[int]) -> None:
    names = {str(number) for number in poison}
    producer = ScriptedProducer(script, names)
    sent = [numbered(number) for number in range(count)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kafka.KafkaProducer", lambda **_: producer)
        sink = KafkaSink(Settings(audit=AuditSettings(kafka_bootstrap=SERVERS)))
        rejected: frozenset[str] = frozenset()
        for _ in range(len(script) + 2):
            try:
                sink.write(sent)
            except AuditRefused as e:
                rejected = e.rejected
            except AuditSinkError:
                continue
            break
        else:
            pytest.fail("it never ends")
        sink.close()
    assert rejected == {one.id for one in sent} & names
    assert sorted(producer.topic) == [one.id for one in sent if one.id not in names]


def test_a_record_that_the_server_finds_too_large_is_rejected_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    producer = ScriptedProducer([ACCEPTED, TOO_LARGE, ACCEPTED], set())
    monkeypatch.setattr("kafka.KafkaProducer", lambda **_: producer)
    with pytest.raises(AuditRefused) as caught:
        configured().write([numbered(1), numbered(2), numbered(3)])
    assert caught.value.rejected == {"2"}
    assert producer.topic == ["1", "3"]


@pytest.mark.parametrize("level", [logging.DEBUG, logging.NOTSET])
def test_messages_of_the_library_are_kept_back_unless_its_logger_is_configured(
    level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it only logs is the reason that the error names."""

    def producer(**_: Any) -> None:
        logging.getLogger("kafka.net.manager").warning("Bootstrap failed: %s", KafkaConnectionError("wrong\nplanet"))
        raise KafkaTimeoutError("Unable to bootstrap")

    monkeypatch.setattr("kafka.KafkaProducer", producer)
    logger = logging.getLogger("kafka")
    before = (logger.level, logger.propagate, list(logger.handlers))
    try:
        logger.setLevel(level)
        logger.propagate, logger.handlers = True, []
        with pytest.raises(AuditSinkError, match="rejected audit records: KafkaConnectionError: wrong planet"):
            configured().write(())
        assert logger.propagate == (level != logging.NOTSET)
    finally:
        logger.setLevel(before[0])
        _, logger.propagate, logger.handlers = before
