"""What all tests share: the order they come in, how many at once, cheap passwords, one JVM, one Spark session."""

from __future__ import annotations

import gc
import importlib.metadata
import os
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import ExitStack
from importlib.metadata import Distribution
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from ranger_cdap.config import SyncSettings
from ranger_cdap.engine import build
from ranger_cdap.engine.compiled.service_def import ServiceModel, compile_service_def
from ranger_cdap.ranger_model.service_def import ServiceDef
from ranger_cdap.testing.admin.rules import passwords
from tests.differential.java_engine import JavaEngine, missing_tool
from tests.missing_tools import names_a_missing_tool
from tests.short_lived_java import QUICK_JAVA

pytest_plugins = ["tests.matrix"]

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}

# What is slow draws many examples always; the wheel is the same code as the tree.
NIGHTLY = "RANGER_CDAP_NIGHTLY" in os.environ and "RANGER_CDAP_TESTED_WHEEL" not in os.environ
NIGHTLY_TIMES = 10
# No test trusts the authorities of this machine, and to load them takes each client 30 ms.
os.environ["SSL_CERT_FILE"] = os.devnull

_SETTINGS = "_hypothesis_internal_use_settings"
_drawing_more: list[object] = []

# How long an example takes says more about the machine than about the code; what CI finds must be found again.
settings.register_profile("quick", deadline=None, max_examples=50, derandomize="CI" in os.environ and not NIGHTLY)
settings.load_profile("quick")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """PySpark leaves its sockets to the garbage collector, in whatever test that happens to run.

    What takes longest comes first: at the end several workers have something to do.
    """
    for item in items:
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))
        if NIGHTLY and not item.get_closest_marker("slow"):
            _draw_more(getattr(item, "obj", None))
    items.sort(key=lambda item: -sum(1 for name in ("spark", "slow") if item.get_closest_marker(name)))


def _draw_more(test: object) -> None:
    """Multiply the examples that a test draws; Hypothesis keeps its settings in an attribute of the function."""
    drawn = getattr(test, _SETTINGS, None)
    if isinstance(drawn, settings) and test not in _drawing_more:
        setattr(test, _SETTINGS, settings(drawn, max_examples=drawn.max_examples * NIGHTLY_TIMES))
        _drawing_more.append(test)


def _held_to_its_reason(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Let a skip fail whose reason names no missing tool: a clone with nothing beside it skips nothing else."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not names_a_missing_tool(reason):
        report.outcome = "failed"
        report.longrepr = (
            f"{report.nodeid} is skipped, and its reason names nothing of tests/missing_tools.py: {reason}"
        )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Hold what skips a test, or its fixture, to its reason."""
    report = yield
    _held_to_its_reason(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Hold what skips a whole file to its reason."""
    report = yield
    _held_to_its_reason(report)
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than processors: what waits for a server, a process or a lock leaves its own to others."""
    return (os.cpu_count() or 1) + 1


@pytest.fixture(scope="session", autouse=True)
def _cheap_passwords() -> Iterator[None]:
    """Hundreds of servers with five users each: who guesses passwords is not among them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passwords, "COST", 2)
        yield


@pytest.fixture(scope="session", autouse=True)
def _definitions_are_compiled_once() -> Iterator[None]:
    """Tens of thousands of engines with few policies each: most of what one costs is the same service definition."""
    compiled: list[tuple[ServiceDef, bool, ServiceModel]] = []

    def compile_once(definition: ServiceDef, *, lenient: bool = True) -> ServiceModel:
        for known, mode, model in compiled:
            if mode is lenient and known == definition:
                return model
        model = compile_service_def(definition, lenient=lenient)
        compiled.insert(0, (definition, lenient, model))
        del compiled[8:]
        return model

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "compile_service_def", compile_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def _own_state_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is audited by default does not go among the records of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


class _Package:
    """An installed package whose entry points were read."""

    def __init__(self, distribution: Distribution) -> None:
        self._distribution = distribution
        self.entry_points = distribution.entry_points

    def __getattr__(self, name: str) -> object:
        return getattr(self._distribution, name)


@pytest.fixture(scope="session", autouse=True)
def _packages_are_read_once() -> Iterator[None]:
    """Each command looks through all installed packages for plugins, and tests run thousands in one process."""
    read, known = importlib.metadata.distributions, dict[tuple[str, ...], list[_Package]]()

    def distributions(**named: object) -> Iterable[object]:
        if named:
            return read(**named)
        if tuple(sys.path) not in known:
            known[tuple(sys.path)] = [_Package(distribution) for distribution in read()]
        return known[tuple(sys.path)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.metadata, "distributions", distributions)
        yield


@pytest.fixture(autouse=True)
def _collect_sockets_of_spark(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if request.node.get_closest_marker("spark"):
        gc.collect()


@pytest.fixture(scope="session")
def java() -> Iterator[JavaEngine]:
    """Ranger's own engine, one JVM for the whole run."""
    if sentence := missing_tool():
        pytest.skip(sentence)
    with JavaEngine() as engine:
        yield engine


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """For few rows, and for minutes: compiled quickly rather than well, and Spark writes no Java for each plan.

    The tests that start a driver of their own have Spark as it is in production.
    """
    from spark_sync.spark.session import spark_session

    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        for name, value in QUICK_JAVA.items():
            patch.setenv(name, value)
        session = stack.enter_context(spark_session(SyncSettings(), master="local[2]"))
        patch.undo()
        session.conf.set("spark.sql.shuffle.partitions", "2")
        for name, value in INTERPRETED.items():
            session.conf.set(name, value)
        yield session
