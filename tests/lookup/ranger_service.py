"""The look-up class as Ranger Admin asks it: built when its sources have changed, loaded from a folder of its own."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock

from servicedef import service_definition, with_lookup
from tests.differential.java_engine import HarnessError, JavaEngine
from tests.differential.java_engine import missing_tool as missing_harness

SOURCES = Path(__file__).parents[2] / "jvm" / "ranger-lookup"
JAR = SOURCES / "target" / "ranger-cdap-lookup.jar"
DEFINITION = with_lookup(service_definition())

LOOKUP_MS = 800
"""How long a look-up may take by default."""

LOOKUP_PATIENCE, TEST_PATIENCE = 1_000, 10_000
"""How long Ranger Admin waits, in milliseconds, by default."""

_MOST_TRIES = 10
_OUTAGE = 3.0  # seconds in which CDAP is not asked again after it was too slow
_numbers = itertools.count(1)


def missing_tool() -> str | None:
    """The sentence that says what to install, None where the class can be asked."""
    if shutil.which("mvn") is None and not is_built():
        return "the look-up jar needs Maven on the path, to be built"
    return missing_harness()


def is_built() -> bool:
    sources = [SOURCES / "pom.xml", *(SOURCES / "src").rglob("*.java")]
    return JAR.exists() and JAR.stat().st_mtime >= max(path.stat().st_mtime for path in sources)


def build() -> None:
    """Build once for all processes; a second caller waits and finds it done."""
    with FileLock(SOURCES / ".build.lock"):
        if is_built():
            return
        command = ["mvn", "-q", "-B", "-f", str(SOURCES), "clean", "package"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise HarnessError(f"the look-up jar does not build: {done.stdout[-4000:]}{done.stderr[-4000:]}")


@dataclass(frozen=True)
class Answer:
    """What Ranger Admin gets, and the milliseconds that its only thread for this was taken."""

    names: list[str]
    failure: str
    ms: float

    @property
    def must(self) -> list[str]:
        """The names where nothing else will do."""
        assert not self.failure
        return self.names


class RangerService(AbstractContextManager["RangerService"]):
    """A JVM with Ranger's classes, and the jar where Ranger Admin looks for it."""

    def __init__(self, folder: Path) -> None:
        build()
        self._folder = folder
        folder.mkdir(parents=True)
        shutil.copy(JAR, folder)
        self._java = JavaEngine()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._java.__exit__(kind, error, trace)

    def look_up(
        self,
        configs: Mapping[str, str],
        level: str,
        user_input: str | None = "",
        resources: Mapping[str, Sequence[str]] | None = None,
        *,
        patience: int = LOOKUP_PATIENCE,
    ) -> Answer:
        """What is offered for a level while somebody types, after `resources` were chosen.

        `patience`: the milliseconds after which Ranger Admin interrupts it.
        """
        context = {"resourceName": level, "userInput": user_input, "resources": resources}
        answer = self._ask(configs, {"lookup": context, "patience": patience})
        return Answer(answer.get("result", []), answer.get("failure", ""), answer["ms"])

    def names(
        self,
        configs: Mapping[str, str],
        level: str,
        user_input: str | None = "",
        resources: Mapping[str, Sequence[str]] | None = None,
    ) -> list[str]:
        """What is offered where a CDAP that is not slow answers; asked again where this machine was."""
        for _ in range(_MOST_TRIES):
            answer = self.look_up(configs, level, user_input, resources)
            if answer.ms < LOOKUP_MS * 0.95 and "gave no answer within" not in answer.failure:
                break
            time.sleep(_OUTAGE)
        return answer.must

    def test_connection(self, configs: Mapping[str, str]) -> dict[str, Any]:
        """The answer of Test Connection; `ms` is how long it took."""
        answer = self._ask(configs, {"patience": TEST_PATIENCE})
        assert "failure" not in answer, "Ranger forgets the text of an exception"
        return {**answer["result"], "ms": answer["ms"]}

    def encrypted(self, password: str, algorithm: str) -> str:
        """The password as Ranger Admin keeps it."""
        command = {"command": "encrypt", "password": password, "algorithm": algorithm}
        return str(self._java.ask(command)["encrypted"])

    def _ask(self, configs: Mapping[str, str], more: Mapping[str, Any]) -> dict[str, Any]:
        service = {"name": "cdapdev", "type": "cdap", "configs": dict(configs)}
        return self._java.ask(
            {"command": "service", "jars": str(self._folder), "definition": DEFINITION, "service": service, **more}
        )


def other_account() -> str:
    """The name of an account that nothing is remembered about."""
    return f"account{next(_numbers)}"
