"""Ranger's Java engine as an object: builds the harness when its sources have changed, and talks JSON lines to it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from itertools import chain, repeat
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock

from tests.differential.steps import steps

Json = Mapping[str, Any]

HARNESS = Path(__file__).parents[2] / "jvm" / "harness"
TARGET = HARNESS / "target"
JAR = TARGET / "ranger-harness.jar"
CLASS_PATH = TARGET / "classpath.txt"
WITH_JAVASCRIPT = TARGET / "classpath-javascript.txt"
SMALL = ("-XX:+UseSerialGC", "-Xmx1g")


class HarnessError(Exception):
    """The harness cannot be built, or has refused a command."""


def java_command() -> str | None:
    """The Java of `JAVA_HOME`, else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin") if home else None)


def missing_tool() -> str | None:
    """The sentence that says what to install, None where the harness can be used."""
    java = java_command()
    version = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr if java else ""
    major = re.search(r'version "(\d+)', version)
    if major is None or int(major[1]) < 17:
        return "Ranger's own engine needs Java 17 or newer, on the path or in JAVA_HOME"
    if shutil.which("mvn") is None and not is_built():
        return "Ranger's own engine needs Maven on the path, to be built"
    return None


def is_built() -> bool:
    sources = [HARNESS / "pom.xml", *(HARNESS / "src").rglob("*.*")]
    made = [JAR, CLASS_PATH, WITH_JAVASCRIPT]
    if not all(path.exists() for path in made):
        return False
    jars = WITH_JAVASCRIPT.read_text(encoding="utf-8").strip().split(":")
    newest_source = max(path.stat().st_mtime for path in sources)
    return min(path.stat().st_mtime for path in made) >= newest_source and all(Path(jar).exists() for jar in jars)


def build() -> None:
    """Build once for all processes; a second caller waits and finds it done."""
    # Beside what `clean` deletes, or a second caller would lock another file of the same name.
    with FileLock(HARNESS / ".build.lock"):
        if is_built():
            return
        command = ["mvn", "-q", "-B", "-f", str(HARNESS), "clean", "package"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise HarnessError(f"the harness does not build: {done.stdout[-4000:]}{done.stderr[-4000:]}")


class JavaEngine(AbstractContextManager["JavaEngine"]):
    """One JVM that holds any number of engines by name."""

    def __init__(self, *options: str, javascript: bool = False) -> None:
        """`options` of the JVM, instead of those for many small engines; Java 17 has no JavaScript of its own."""
        build()
        jars = (WITH_JAVASCRIPT if javascript else CLASS_PATH).read_text(encoding="utf-8").strip()
        class_path = f"{JAR}:{jars}"
        self._process = subprocess.Popen(
            [java_command() or "java", *(options or SMALL), "-cp", class_path, "rangercdap.Harness"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C is for the program that asks; it ends this one by closing its input
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=10)  # closing its input ends it

    def load(self, scenario: Json, name: str = "engine") -> dict[str, Any]:
        """Load the policies, roles, tags, user store and settings of a scenario."""
        given = {key: scenario[key] for key in ("policies", "roles", "tags", "userStore", "conf") if scenario.get(key)}
        return self.ask({"command": "load", "engine": name, **given})

    def download(self, service_type: str, service: str, conf: Json, name: str = "engine") -> dict[str, Any]:
        """A plugin that downloads by itself, from the Ranger Admin its configuration names."""
        return self.ask({"command": "download", "engine": name, "type": service_type, "service": service, "conf": conf})

    def refresh(self, name: str = "engine") -> dict[str, Any]:
        """Let such a plugin download again, now."""
        return self.ask({"command": "refresh", "engine": name})

    def validate(self, definition: Json, service: str, policies: Iterable[Json]) -> tuple[str | None, list[str | None]]:
        """What Ranger Admin's validators say against a definition and against each policy; None is valid."""
        answer = self._validated(definition, service, policies)
        return answer["definition"], answer["policies"]

    def saved(self, definition: Json, service: str, policies: Iterable[Json]) -> list[tuple[str | None, Json]]:
        """What they say against each policy, and the policy as they leave it."""
        answer = self._validated(definition, service, policies)
        return list(zip(answer["policies"], answer["saved"], strict=True))

    def _validated(self, definition: Json, service: str, policies: Iterable[Json]) -> dict[str, Any]:
        return self.ask(
            {"command": "validate", "definition": definition, "service": service, "policies": list(policies)}
        )

    def apply_deltas(self, policies: Json, name: str = "engine") -> dict[str, Any]:
        return self.ask({"command": "delta", "engine": name, "policies": policies})

    def set_tags(self, tags: Json, name: str = "engine") -> dict[str, Any]:
        """A later download of tags, in place of the one before; without an enricher it has no effect."""
        return self.ask({"command": "tags", "engine": name, "tags": tags})

    def evaluate(self, requests: Iterable[Json], name: str = "engine") -> list[dict[str, Any]]:
        answers = self.ask({"command": "evaluate", "engine": name, "requests": list(requests)})["answers"]
        return list(answers)

    def who_can(self, requests: Iterable[Json], name: str = "engine") -> list[dict[str, Any]]:
        answers = self.ask({"command": "acls", "engine": name, "requests": list(requests)})["answers"]
        return list(answers)

    def load_file(self, policies: Path, more: Json, name: str = "engine") -> dict[str, Any]:
        """Load a download from a file; how long that took, and the megabytes of live objects it added."""
        return self.ask({"command": "loadFile", "engine": name, "file": str(policies), **more})

    def time(self, requests: Path, passes: int, name: str = "engine") -> dict[str, Any]:
        """How fast the questions of a file are answered, and the answers (see `Timing.java`)."""
        return self.ask({"command": "time", "engine": name, "file": str(requests), "passes": passes})

    def drop(self, name: str = "engine") -> None:
        self.ask({"command": "drop", "engine": name})

    def decide(self, scenario: Json, taken: Iterable[bool] = ()) -> list[dict[str, Any]]:
        """Load a scenario, apply its changes if it has any, and answer all its requests.

        For a document that was not `taken` by the other engine both are given the full set.
        """
        self.load(scenario)
        for (document, full), applied in zip(steps(scenario), chain(taken, repeat(True)), strict=False):
            if applied:
                self.apply_deltas(document)
            else:
                self.load({**scenario, "policies": full})
        if scenario.get("laterTags"):
            self.set_tags(scenario["laterTags"])
        return self.evaluate(scenario["requests"])

    def ask(self, command: Json) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise HarnessError(f"the harness has ended with exit code {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise HarnessError(answer["error"])
        return answer
