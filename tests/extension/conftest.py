"""Both jars, each in one JVM for the whole run; a scripted service and settings for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.extension.driver import JARS, Extension, missing_tool
from tests.extension.scripted_service import ScriptedService
from tests.extension.secrets_in_text import SECRETS, TOKEN, secret_file

Properties = dict[str, str]


@pytest.fixture(scope="session")
def machines() -> Iterator[dict[str, Extension]]:
    if sentence := missing_tool():
        pytest.skip(sentence)
    started: dict[str, Extension] = {}
    try:
        for jar in JARS:
            started[jar] = Extension(jar)
        yield started
    finally:
        for machine in started.values():
            machine.__exit__(None, None, None)


@pytest.fixture(params=list(JARS))
def extension(request: pytest.FixtureRequest, machines: dict[str, Extension]) -> Iterator[Extension]:
    """Each jar in turn; what it logs never holds a secret or a user's credential."""
    yield from watched(machines[request.param])


@pytest.fixture
def newest(machines: dict[str, Extension]) -> Iterator[Extension]:
    """The jar for CDAP 6.11."""
    yield from watched(machines["6.11"])


def watched(extension: Extension) -> Iterator[Extension]:
    yield extension
    log = extension.log
    assert not [secret for secret in (*SECRETS.values(), TOKEN) if secret in log]


@pytest.fixture
def service() -> Iterator[ScriptedService]:
    with ScriptedService() as service:
        yield service


@pytest.fixture
def properties(service: ScriptedService, tmp_path: Path) -> Properties:
    """What CDAP passes for an extension that asks the scripted service and remembers nothing."""
    properties = {"url": service.url, "cache.seconds": "0", "read.timeout.ms": "20000", "cache.max.entries": "150000"}
    for role in ("enforce", "audit"):
        properties[f"{role}.secret.file"] = str(secret_file(tmp_path, role))
    return properties
