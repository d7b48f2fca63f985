"""A Kafka broker of its own on loopback, with Kafka's own tools, fetched by Maven (`jvm/kafka`)."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

KAFKA = Path(__file__).parents[3] / "jvm" / "kafka"
BROKER = KAFKA / "target" / "broker"
CONNECTOR = KAFKA / "target" / "connector"
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qk"
PROPERTIES = "broker.properties"
PATIENCE = 60.0


def fetch() -> None:
    """The jars of the broker and of Spark's connector, if they are not here yet."""
    if not BROKER.is_dir() or not CONNECTOR.is_dir():
        subprocess.run(["mvn", "-q", "-B", "-f", KAFKA / "pom.xml", "package"], check=True)


class Broker:
    """A broker at `address`, which keeps its data in `directory`; each topic has one partition."""

    topic = "audit"

    def __init__(self, directory: Path, port: int) -> None:
        self.address = f"127.0.0.1:{port}"
        self._directory = directory
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, with the properties and the data of its directory."""
        with (self._directory / "broker.log").open("ab") as log:
            self._process = subprocess.Popen(
                _java("kafka.Kafka", str(self._directory / PROPERTIES)), stdout=log, stderr=log
            )
        _wait_for(self._port, self._process)

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def create(self, topic: str) -> None:
        """Make a topic."""
        tool("org.apache.kafka.tools.TopicCommand", *self._there, "--create", "--topic", topic)

    def send(self, lines: Sequence[str]) -> None:
        """Kafka's console producer sends each line as a message."""
        tool("kafka.tools.ConsoleProducer", *self._there, "--topic", self.topic, given="".join(f"{x}\n" for x in lines))

    def forget(self, before: int) -> None:
        """The broker drops the messages before that offset, as it does when they are too old."""
        file = self._directory / "forget.json"
        file.write_text(
            json.dumps({"partitions": [{"topic": self.topic, "partition": 0, "offset": before}], "version": 1}),
            encoding="utf-8",
        )
        tool("org.apache.kafka.tools.DeleteRecordsCommand", *self._there, "--offset-json-file", str(file))

    @property
    def _there(self) -> tuple[str, str]:
        return "--bootstrap-server", self.address


@contextmanager
def kafka_broker(
    directory: Path, *, listeners: str = "", more: str = "", accounts: Sequence[str] = ()
) -> Iterator[Broker]:
    """A broker that keeps its data below `directory`, gone at the end.

    `listeners` are those beside the plain one, `more` has other properties, `accounts` are those of SCRAM.
    """
    port, controller = free_port(), free_port()
    properties = directory / PROPERTIES
    properties.write_text(
        f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{listeners}
controller.listener.names=CONTROLLER
log.dirs={directory / "logs"}
offsets.topic.replication.factor=1
{more}
""",
        encoding="utf-8",
    )
    scram = [part for account in accounts for part in ("--add-scram", account)]
    tool("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(properties), *scram)
    broker = Broker(directory, port)
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


def tool(main: str, *arguments: str, given: str = "") -> None:
    """Run one of Kafka's own programs to its end."""
    done = subprocess.run(
        _java(main, *arguments), input=given, text=True, capture_output=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr + done.stdout


def _java(main: str, *arguments: str) -> list[str]:
    return ["java", "-Xmx256m", "-cp", str(BROKER / "*"), main, *arguments]


def free_port() -> int:
    with closing(socket.socket()) as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        with closing(socket.socket()) as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError("the broker did not start")
