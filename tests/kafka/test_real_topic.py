"""Audit records in a topic of a real Kafka: sign-in, refusals, and a broker that goes away and comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ranger_cdap.audit import AuditRecord
from ranger_cdap.audit.delivery import Delivery
from ranger_cdap.audit.ranger_event import ranger_event
from ranger_cdap.audit.spool import Spool
from ranger_cdap.config import AuditSettings, NetworkSettings, Secret, Settings
from ranger_cdap.errors import AuditRefused, AuditSinkError
from ranger_cdap.sinks.kafka import KafkaSink
from tests.audit.samples import numbered
from tests.disk_faults import ended_well, in_a_child
from tests.kafka.secured_broker import MISSING, PASSWORD, READER, WRITER, SecuredBroker

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.slow,
    # kafka-python leaves the socket of an attempt that failed to the garbage collector, which closes it.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

PATIENCE = 150.0
_topics = count()


@pytest.fixture
def topic(kafka: SecuredBroker) -> str:
    name = f"ranger_audits_{next(_topics)}"
    kafka.broker.create(name)
    return name


@pytest.fixture
def sink_to(kafka: SecuredBroker, monkeypatch: pytest.MonkeyPatch) -> Callable[..., KafkaSink]:
    """By TLS, although the broker is on this machine."""
    monkeypatch.setattr("ranger_cdap.sinks.kafka.all_can_be_plain", lambda *_: False)

    def made(topic: str, user: str = WRITER, password: str = PASSWORD, **given: Any) -> KafkaSink:
        settings = AuditSettings(
            kafka_bootstrap=kafka.sasl,
            kafka_topic=topic,
            kafka_username=user,
            kafka_password=Secret(password),
        )
        network = NetworkSettings(ca_file=given.pop("ca_file", str(kafka.ca_file)))
        audit = msgspec.structs.replace(settings, **given)
        return KafkaSink(Settings(audit=audit, network=network), answer_seconds=3.0)

    return made


def ids(kafka: SecuredBroker, topic: str) -> list[str]:
    return [event["id"] for event in kafka.events(topic)]


@pytest.mark.smoke
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_records_are_events_of_ranger_under_the_name_of_their_host(
    kafka: SecuredBroker, topic: str, sink_to: Callable[..., KafkaSink], mechanism: str
) -> None:
    sent = [numbered(number) for number in range(1_200)]
    sink = sink_to(topic, kafka_mechanism=mechanism)
    sink.write(sent[:500])
    sink.write(sent[500:])
    sink.close()
    found = kafka.events(topic)
    assert {event.pop("_key") for event in found} == {sent[0].agentHost}
    assert found == [msgspec.json.decode(ranger_event(record)) for record in sent]


def test_a_client_certificate_signs_in(kafka: SecuredBroker, topic: str, sink_to: Callable[..., KafkaSink]) -> None:
    files = {"kafka_cert_file": str(kafka.cert_file), "kafka_key_file": str(kafka.key_file)}
    sink = sink_to(topic, user="", kafka_bootstrap=kafka.certificates, **files)
    sink.write([numbered(1)])
    sink.close()
    assert ids(kafka, topic) == ["1"]


def test_on_this_machine_no_tls_is_needed(kafka: SecuredBroker, topic: str) -> None:
    sink = KafkaSink(Settings(audit=AuditSettings(kafka_bootstrap=kafka.broker.address, kafka_topic=topic)))
    sink.write([numbered(1)])
    sink.close()
    assert ids(kafka, topic) == ["1"]


def test_a_record_that_is_too_large_is_rejected_alone(
    kafka: SecuredBroker, topic: str, sink_to: Callable[..., KafkaSink]
) -> None:
    huge = msgspec.structs.replace(numbered(2), resource="x" * 2_000_000)
    sink = sink_to(topic)
    with pytest.raises(AuditRefused) as caught:
        sink.write([numbered(1), huge, numbered(3)])
    sink.close()
    assert caught.value.rejected == {"2"}
    assert ids(kafka, topic) == ["1", "3"]


# the account, its password, what else is set, what is said
REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    (WRITER, "wrong", {}, "account `writer`"),
    ("nobody", PASSWORD, {}, "account `nobody`"),
    (WRITER, "wrong", {"kafka_mechanism": "PLAIN"}, "account `writer`"),
    (READER, PASSWORD, {}, "does not let account `reader` write to topic"),
    (WRITER, PASSWORD, {"kafka_topic": MISSING}, f"has no topic `{MISSING}`"),
    (WRITER, PASSWORD, {"ca_file": None}, "certificate"),
    (WRITER, PASSWORD, {"kafka_bootstrap": "127.0.0.1:1"}, "rejected audit records of account `writer`: "),
]


@pytest.mark.parametrize(("user", "password", "given", "said"), REFUSED)
@pytest.mark.parametrize("records", [(), (numbered(1),)], ids=["check", "write"])
def test_a_refusal_is_an_error_in_one_sentence(
    topic: str,
    sink_to: Callable[..., KafkaSink],
    user: str,
    password: str,
    given: dict[str, Any],
    said: str,
    records: tuple[AuditRecord, ...],
) -> None:
    sink = sink_to(topic, user, password, **given)
    began = time.monotonic()
    with pytest.raises(AuditSinkError) as caught:
        sink.write(records)
    sink.close()
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert password not in str(caught.value)
    assert type(caught.value) is AuditSinkError
    assert time.monotonic() - began < 15.0


def test_a_broker_that_goes_away_and_comes_back_has_each_record(
    kafka: SecuredBroker, topic: str, sink_to: Callable[..., KafkaSink], tmp_path: Path
) -> None:
    threads = threading.active_count()
    delivery = Delivery(
        "kafka",
        sink_to(topic),
        capacity=10_000,
        spool=Spool(tmp_path, "kafka", max_bytes=1 << 24),
        first_pause=0.2,
    )
    sent = 0

    def write(batches: int) -> None:
        nonlocal sent
        for _ in range(batches):
            delivery.write([numbered(sent + number) for number in range(100)])
            sent += 100
            time.sleep(0.01)

    write(20)
    for _ in range(2):
        stopping = threading.Thread(target=kafka.broker.stop)
        stopping.start()
        write(20)
        stopping.join()
        kafka.broker.start()
        write(20)
    end = time.monotonic() + PATIENCE
    while len(set(ids(kafka, topic))) < sent and time.monotonic() < end:
        time.sleep(0.2)
    delivery.close(timeout=PATIENCE)
    while threading.active_count() > threads and time.monotonic() < end:
        time.sleep(0.2)
    assert threading.active_count() <= threads, "a connection that failed goes on"
    found = ids(kafka, topic)
    assert set(found) == {str(number) for number in range(sent)}
    # Only those may be there twice whose answer was lost: what was under way as the broker was killed.
    assert len(found) - len(set(found)) <= 2 * 500
    assert delivery.lost == 0


def test_a_forked_child_and_its_parent_both_write(
    kafka: SecuredBroker, topic: str, sink_to: Callable[..., KafkaSink]
) -> None:
    sink = sink_to(topic)
    sink.write([numbered(1)])

    def write_one() -> None:
        sink.write([numbered(2)])
        sink.close()

    assert ended_well(in_a_child(write_one))
    sink.write([numbered(3)])
    sink.close()
    assert ids(kafka, topic) == ["1", "2", "3"]
