"""A real Kafka on loopback, by TLS with SASL or with client certificates, that asks who may write where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kafka import KafkaConsumer, TopicPartition

from tests.certificates import Authority, put
from tests.spark_sync.sources.kafka_broker import Broker, free_port, kafka_broker

PASSWORD: Final = "Kafka-Passw0rd"
WRITER, READER = "writer", "reader"
"""Accounts: one may write everywhere, the other nowhere."""
MISSING: Final = "no_such_topic"


@dataclass(frozen=True)
class SecuredBroker:
    """The broker, its addresses by TLS, and the files of its clients."""

    broker: Broker
    sasl: str
    certificates: str
    ca_file: Path
    cert_file: Path
    key_file: Path

    def events(self, topic: str) -> list[dict[str, Any]]:
        """What is in a topic, in its order; each with its key as `_key`."""
        consumer = KafkaConsumer(bootstrap_servers=self.broker.address, auto_offset_reset="earliest")
        with closing(consumer):
            partition = TopicPartition(topic, 0)
            consumer.assign([partition])
            end = consumer.end_offsets([partition])[partition]
            found: list[dict[str, Any]] = []
            while consumer.position(partition) < end:
                for message in consumer.poll(timeout_ms=1_000).get(partition, ()):
                    found.append(json.loads(message.value) | {"_key": message.key.decode()})
        return found


@contextmanager
def secured_broker(directory: Path) -> Iterator[SecuredBroker]:
    """The broker, gone at the end."""
    authority = Authority("an authority of Kafka")
    ca_file = put(directory / "ca.pem", authority.pem)
    server = authority.server()
    put(directory / "server.pem", server.key + server.chain)
    cert_file, key_file = authority.client(WRITER).put(directory / "client.pem", directory / "client.key")
    sasl, certificates = free_port(), free_port()
    scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
    users = " ".join(f'user_{name}="{PASSWORD}"' for name in (WRITER, READER))
    plain = f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"
    more = f"""listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL
inter.broker.listener.name=PLAINTEXT
ssl.keystore.type=PEM
ssl.keystore.location={directory / "server.pem"}
ssl.truststore.type=PEM
ssl.truststore.location={ca_file}
listener.name.ssl.ssl.client.auth=required
listener.name.sasl_ssl.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
listener.name.sasl_ssl.plain.sasl.jaas.config={plain}
listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config={scram}
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config={scram}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS;User:{WRITER};User:CN={WRITER}
auto.create.topics.enable=false"""
    accounts = [
        f"{mechanism}=[name={name},password={PASSWORD}]"
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
        for name in (WRITER, READER)
    ]
    listeners = f",SASL_SSL://127.0.0.1:{sasl},SSL://127.0.0.1:{certificates}"
    with kafka_broker(directory, listeners=listeners, more=more, accounts=accounts) as broker:
        yield SecuredBroker(broker, f"127.0.0.1:{sasl}", f"127.0.0.1:{certificates}", ca_file, cert_file, key_file)
