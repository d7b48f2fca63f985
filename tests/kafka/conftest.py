"""One broker for all tests of this folder: plain for its own tools, by TLS and SASL for what is tested."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator

import pytest

from tests.differential.java_engine import java_command
from tests.kafka.secured_broker import SecuredBroker, secured_broker
from tests.spark_sync.sources.kafka_broker import BROKER


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    if not java_command() or not BROKER.is_dir():
        pytest.skip("needs a real Kafka, fetched by `make test-kafka`")
    with secured_broker(tmp_path_factory.mktemp("kafka")) as broker:
        yield broker
    collect()


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    yield
    collect()


def collect() -> None:
    """kafka-python leaves sockets to the garbage collector, whose warnings would be those of another test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
