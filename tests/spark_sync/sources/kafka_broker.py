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
PATIENCE = 60.0


def fetch() -> None:
    """The jars of the broker and of Spark's connector, if they are not here yet."""
    if not BROKER.is_dir() or not CONNECTOR.is_dir():
        subprocess.run(["mvn", "-q", "-B", "-f", KAFKA / "pom.xml", "package"], check=True)


class Broker:
    """A running broker at `address`; one topic, one partition."""

    topic = "audit"

    def __init__(self, directory: Path, port: int) -> None:
        self.address = f"127.0.0.1:{port}"
        self._directory = directory

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
def kafka_broker(directory: Path) -> Iterator[Broker]:
    """A broker that keeps its data below `directory`, gone at the end."""
    port, controller = _free_port(), _free_port()
    properties = directory / "broker.properties"
    properties.write_text(
        f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
log.dirs={directory / "logs"}
offsets.topic.replication.factor=1
""",
        encoding="utf-8",
    )
    tool("kafka.tools.StorageTool", "format", "-t", CLUSTER, "-c", str(properties))
    with (directory / "broker.log").open("wb") as log:
        process = subprocess.Popen(_java("kafka.Kafka", str(properties)), stdout=log, stderr=log)
    try:
        _wait_for(port, process)
        yield Broker(directory, port)
    finally:
        process.kill()
        process.wait()


def tool(main: str, *arguments: str, given: str = "") -> None:
    """Run one of Kafka's own programs to its end."""
    done = subprocess.run(
        _java(main, *arguments), input=given, text=True, capture_output=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr + done.stdout


def _java(main: str, *arguments: str) -> list[str]:
    return ["java", "-Xmx256m", "-cp", str(BROKER / "*"), main, *arguments]


def _free_port() -> int:
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
