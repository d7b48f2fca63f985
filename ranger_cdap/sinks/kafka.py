"""Sink for a topic of Kafka, with each record as Ranger's own Kafka destination sends it."""

from __future__ import annotations

import importlib.util
import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from ranger_cdap.audit.ranger_event import ranger_event
from ranger_cdap.audit.record import AuditRecord
from ranger_cdap.config import Settings, all_can_be_plain
from ranger_cdap.config.address import can_be_plain
from ranger_cdap.errors import AuditRefused, AuditSinkError, ConfigError
from ranger_cdap.forks import restart_after_fork
from ranger_cdap.net.tls import TlsFiles

_HOST: Final = r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])"
_BOOTSTRAP: Final = re.compile(rf"{_HOST}:[0-9]{{1,5}}(?:,{_HOST}:[0-9]{{1,5}})*")
_TOPIC: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
_ANSWER_SECONDS: Final = 10.0
_RECONNECT_MILLISECONDS: Final = 500  # each attempt with a wrong password counts
_MOST_REMEMBERED: Final = 10_000
_LONGEST_QUOTE: Final = 200


class KafkaSink:
    """Sink that sends each record under the name of its host, so that those of one host stay in their order.

    A record is written once all in-sync replicas have it. Those known to be there are not sent again; one whose answer
    was lost may be there twice, under one `id`. The connection is made when it is first needed.

    Raises:
        ConfigError: a setting has another form, a file cannot be used, or the library is not installed.
    """

    def __init__(self, settings: Settings, *, answer_seconds: float = _ANSWER_SECONDS) -> None:
        audit = settings.audit
        servers = ",".join(filter(None, (one.strip() for one in audit.kafka_bootstrap.split(","))))
        if not _BOOTSTRAP.fullmatch(servers):
            raise ConfigError(
                f"`audit.kafka_bootstrap` must be servers like `kafka1:9093,kafka2:9093`, not "
                f"{audit.kafka_bootstrap[:100]!a}"
            )
        if not _TOPIC.fullmatch(audit.kafka_topic) or audit.kafka_topic in (".", ".."):
            raise ConfigError(f"`audit.kafka_topic` must be the name of a topic, not {audit.kafka_topic[:100]!a}")
        if audit.kafka_key_file and not audit.kafka_cert_file:
            raise ConfigError("`audit.kafka_key_file` is set and `audit.kafka_cert_file` is not; set both, or neither")
        if importlib.util.find_spec("kafka") is None:
            raise ConfigError("the sink `kafka` needs the library `kafka-python`: pip install 'ranger-cdap[kafka]'")
        self._servers = servers
        self._settings = audit
        self._plain_hosts = settings.network.plain_hosts
        self._is_plain = all_can_be_plain(servers, self._plain_hosts)
        self._unnamed = ""
        self._tls = TlsFiles(settings.network.ca_file, audit.kafka_cert_file, audit.kafka_key_file)
        self._answer_seconds = answer_seconds
        self._producer: Any = None
        self._client: Any = None
        self._inherited: Any = None
        self._known: set[str] = set()
        self._sign_in()  # what cannot be read ends the start, not the delivery of records
        restart_after_fork(self)

    def after_fork(self) -> None:
        """Connect again; the parent's connection is kept here unused, as closing it would end the parent's."""
        self._inherited = self._producer, self._client
        self._producer = self._client = None
        self._known = set()

    def write(self, records: Sequence[AuditRecord]) -> None:
        """Send the records; without records, ask for the topic and send nothing.

        Raises:
            AuditRefused: some are too large, and named; the topic has all others.
            AuditSinkError: no broker answers, or one rejects the account or some of the records.
        """
        from kafka.errors import KafkaError

        try:
            if self._producer is None:
                self._connect()
            if records:
                self._send(self._producer, records)
        except (KafkaError, OSError) as e:
            self.close()
            raise self._failed(e) from None

    def _send(self, producer: Any, records: Sequence[AuditRecord]) -> None:
        from kafka.errors import KafkaError, KafkaTimeoutError, MessageSizeTooLargeError

        sent: list[tuple[str, Any]] = []
        rejected: list[str] = []
        failure: KafkaError | None = None
        for record in records:
            if record.id in self._known:
                continue
            try:
                key = record.agentHost.encode()
                sent.append((record.id, producer.send(self._settings.kafka_topic, ranger_event(record), key)))
            except MessageSizeTooLargeError:
                rejected.append(record.id)
            except KafkaError as e:
                failure = e
                break
        try:
            producer.flush(self._answer_seconds * 3)  # when all are sent, or given up
        except KafkaTimeoutError as e:
            failure = failure or e
        for name, future in sent:
            if future.succeeded():
                self._known.add(name)
            elif future.is_done and isinstance(future.exception, MessageSizeTooLargeError):
                rejected.append(name)
            else:
                failure = failure or future.exception or KafkaTimeoutError("no answer in time")
        if failure is not None:
            if len(self._known) > _MOST_REMEMBERED:
                self._known.clear()
            raise failure
        self._known.difference_update(record.id for record in records)
        if rejected:
            raise AuditRefused(f"Kafka at `{self._servers}` rejects audit records: they are too large", rejected)

    def _connect(self) -> None:
        from kafka import KafkaProducer
        from kafka.errors import KafkaTimeoutError, SaslAuthenticationFailedError
        from kafka.net.compat import KafkaNetClient

        def client(**configuration: Any) -> Any:
            self._client = KafkaNetClient(**configuration)
            if self._is_plain:
                self._keep_to_named_hosts(self._client.cluster)
            return self._client

        milliseconds = int(self._answer_seconds * 1000)
        with _first_cause() as causes:
            try:
                self._producer = KafkaProducer(
                    bootstrap_servers=self._servers.split(","),
                    client_id=f"ranger-cdap-{self._settings.kafka_topic}",
                    acks="all",
                    enable_idempotence=True,
                    request_timeout_ms=milliseconds,
                    delivery_timeout_ms=milliseconds * 2,
                    max_block_ms=milliseconds,
                    bootstrap_timeout_ms=milliseconds,
                    reconnect_backoff_ms=_RECONNECT_MILLISECONDS,
                    metrics_enabled=False,
                    kafka_client=client,
                    **self._sign_in(),
                )
            except KafkaTimeoutError as e:
                refused = [cause for cause in causes if isinstance(cause, SaslAuthenticationFailedError)]
                raise next(iter([*refused, *causes]), e) from None
        try:
            self._producer.partitions_for(self._settings.kafka_topic)
        except KafkaTimeoutError:
            self.close()
            problem = f"Kafka at `{self._servers}` has no topic `{self._settings.kafka_topic}`, or does not answer"
            raise AuditSinkError(problem + self._hint) from None

    def _keep_to_named_hosts(self, cluster: Any) -> None:
        """Without TLS, connect to no host that a server names and the settings do not."""
        from kafka.errors import NodeNotReadyError

        find = cluster.broker_metadata

        def named(node: object) -> Any:
            broker = find(node)
            if broker is not None and not can_be_plain(broker.host, self._plain_hosts):
                self._unnamed = broker.host
                raise NodeNotReadyError(node)
            return broker

        cluster.broker_metadata = named

    @property
    def _hint(self) -> str:
        """The advice about TLS, for the end of a message."""
        if self._unnamed:
            return f"; it refers to `{self._unnamed}`, which is not in `network.plain_hosts`"
        return "" if self._is_plain else "; without TLS there, add its hosts to `network.plain_hosts`"

    def _sign_in(self) -> dict[str, Any]:
        """Return the options of the connection, from the current contents of the files."""
        settings, options = self._settings, dict[str, Any]()
        if settings.kafka_username:
            options |= {
                "sasl_mechanism": settings.kafka_mechanism,
                "sasl_plain_username": settings.kafka_username,
                "sasl_plain_password": settings.kafka_password.reveal(),
            }
        if not self._is_plain:
            options["ssl_context"] = self._tls.context()
        transport = "PLAINTEXT" if self._is_plain else "SSL"
        options["security_protocol"] = f"SASL_{transport}" if settings.kafka_username else transport
        return options

    def close(self) -> None:
        """End the connection at once; what it has not sent is sent again by the next one."""
        producer, self._producer = self._producer, None
        client, self._client = self._client, None
        if producer is not None:
            # kafka-python 3.0 flushes first, and leaves a producer running, for ever, whose records cannot be sent.
            producer.flush = lambda timeout=None: None
            producer.close(timeout=0)
        elif client is not None:
            client.close()

    def _failed(self, error: Exception) -> AuditSinkError:
        from kafka import errors

        username = self._settings.kafka_username
        where, account = f"Kafka at `{self._servers}`", f"account `{username or 'ANONYMOUS'}`"
        if isinstance(error, errors.TopicAuthorizationFailedError | errors.ClusterAuthorizationFailedError):
            return AuditSinkError(f"{where} does not let {account} write to topic `{self._settings.kafka_topic}`")
        if isinstance(error, errors.SaslAuthenticationFailedError | errors.UnsupportedSaslMechanismError):
            return AuditSinkError(
                f"{where} rejects {account}: check `audit.kafka_username`, `audit.kafka_password` and "
                "`audit.kafka_mechanism`"
            )
        why = " ".join(str(error).split())[:_LONGEST_QUOTE] or type(error).__name__
        whose = f" of {account}" if username else ""  # a server that rejects one may just close the connection
        return AuditSinkError(f"{where} rejected audit records{whose}: {why}{self._hint}")


@contextmanager
def _first_cause() -> Iterator[Sequence[Exception]]:
    """Collect the errors that the library only logs while it connects, and keep its other messages from the terminal.

    A program that has configured the logger `kafka` gets them all the same.
    """
    logger, causes = logging.getLogger("kafka"), list[Exception]()

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            arguments = record.args if isinstance(record.args, tuple) else ()
            causes.extend(one for one in arguments if isinstance(one, Exception))

    if logger.level == logging.NOTSET and not logger.handlers:
        logger.setLevel(logging.WARNING)
        logger.propagate = False
        logger.addHandler(logging.NullHandler())
    collector = Collector()
    logger.addHandler(collector)
    try:
        yield causes
    finally:
        logger.removeHandler(collector)
