"""An extension jar among CDAP's own classes, as an object: builds it when its sources have changed, and talks to it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from filelock import FileLock

Json = dict[str, Any]

JVM = Path(__file__).parents[2] / "jvm"
DRIVER = JVM / "extension-driver"
JARS = {
    "6.5": JVM / "extension" / "target" / "ranger-cdap-extension-6.5.jar",
    "6.11": JVM / "extension-6.11" / "target" / "ranger-cdap-extension-6.11.jar",
}
EARLIER_JARS = {
    "5.1": JVM / "extension-5.1" / "target" / "ranger-cdap-extension-5.1.jar",
    "6.1": JVM / "extension-6.1" / "target" / "ranger-cdap-extension-6.1.jar",
}
DRIVER_JAR = DRIVER / "target" / "ranger-cdap-extension-driver.jar"
CLASS_PATH = DRIVER / "target" / "classpath.txt"
OPTIONS = ("-XX:+UseSerialGC", "-Xmx128m", "-Duser.name=cdap")


class DriverError(Exception):
    """The jars or the driver cannot be built, or the driver has gone."""


def java_command() -> str | None:
    """The Java of `JAVA_HOME`, else the one on the path."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=str(Path(home) / "bin") if home else None)


def missing_tool() -> str | None:
    """The sentence that says what to install, None where the jars can be tried."""
    if java_command() is None:
        return "the extension jars need Java, on the path or in JAVA_HOME"
    if shutil.which("mvn") is None and not is_built():
        return "the extension jars need Maven on the path, to be built"
    return None


def is_built() -> bool:
    made = [*JARS.values(), *EARLIER_JARS.values(), DRIVER_JAR, CLASS_PATH]
    if not all(path.exists() for path in made):
        return False
    modules = ("extension-common", "extension", "extension-6.11", "extension-6.1", "extension-5.1", "extension-driver")
    folders = [JVM / name for name in modules]
    sources = [path for folder in folders for path in (folder / "pom.xml", *(folder / "src").rglob("*.*"))]
    jars = CLASS_PATH.read_text(encoding="utf-8").strip().split(":")
    newest_source = max(path.stat().st_mtime for path in sources)
    return min(path.stat().st_mtime for path in made) >= newest_source and all(Path(jar).exists() for jar in jars)


def build() -> None:
    """Build once for all processes; a second caller waits and finds it done."""
    # Beside what `clean` deletes, or a second caller would lock another file of the same name.
    with FileLock(JVM / ".build.lock"):
        if is_built():
            return
        for folder in ("extension-common", "extension-driver"):
            command = ["mvn", "-q", "-B", "-f", str(JVM / folder), "clean", "package"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise DriverError(f"{folder} does not build: {done.stdout[-4000:]}{done.stderr[-4000:]}")


@dataclass(frozen=True)
class User:
    """Somebody as CDAP knows him; the credential is what must never leave CDAP."""

    name: str | None
    kerberos: str | None = None
    credential: str | None = None
    type: str = "USER"

    def as_json(self) -> Json:
        return {k: v for k, v in self.__dict__.items() if v is not None}


def entity(cdap_type: str, *parts: str) -> Json:
    return {"type": cdap_type, "parts": list(parts)}


NS1 = entity("NAMESPACE", "ns1")
ALICE = User("alice")


class Jvm:
    """A JVM that reads a command a line and answers with a line, as JSON; a context manager."""

    def __init__(self, java: str, *arguments: str) -> None:
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8")  # noqa: SIM115 - closed with the JVM
        self._process = subprocess.Popen(
            [java, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=20)  # closing its input ends it
        self._log.close()

    @property
    def log(self) -> str:
        """All that was logged."""
        self._log.seek(0)
        return self._log.read()

    def command(self, do: str, **fields: Any) -> Json:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"do": do, **fields}) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise DriverError(f"the driver has gone: {self.log[-2000:]}")
        result: Json = json.loads(line)
        return result


class Extension(Jvm):
    """One JVM with one of the jars; each command is what CDAP 6.11.1 would do, its result what a user would see."""

    def __init__(self, jar: str, *options: str) -> None:
        build()
        self.jar = jar
        class_path = f"{JARS[jar]}:{DRIVER_JAR}:{CLASS_PATH.read_text(encoding='utf-8').strip()}"
        main = "rangercdap.extension.Driver"
        super().__init__(java_command() or "java", *OPTIONS, *options, "-cp", class_path, main)

    def start(self, properties: Mapping[str, str]) -> Json:
        """A new extension with these properties, which knows nothing of the one before."""
        return self.command("start", properties=dict(properties))

    def enforce(
        self,
        user: User = ALICE,
        of: Json = NS1,
        permissions: Sequence[str] = ("STANDARD.GET",),
        *,
        child_type: str | None = None,
        request: Json | None = None,
    ) -> Json:
        optional = {k: v for k, v in (("child_type", child_type), ("request", request)) if v is not None}
        return self.command("enforce", principal=user.as_json(), entity=of, permissions=list(permissions), **optional)

    def visible(self, entities: Sequence[Json], user: User = ALICE) -> Json:
        return self.command("visible", principal=user.as_json(), entities=list(entities))

    def pass_time(self, ms: int) -> None:
        self.command("pass time", ms=ms)
