"""A jar for CDAP before 6.5, loaded and asked by that CDAP's own classes on Java 11."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cdap_master.in_memory_cdap import JAVA
from tests.extension.driver import JVM, Json, Jvm, User

DRIVER = JVM / "extension-driver-6.1" / "target"

# Its class loader reads the class path from this property, and where there is none, names that only Java 8 has.
BOOT_CLASS_PATH = "-Dsun.boot.class.path=/dev/null"


@dataclass(frozen=True)
class Release:
    """A release of CDAP, the package of its classes, and what else its class loader needs on Java 11."""

    cdap: str
    package: str
    options: tuple[str, ...] = ()

    @property
    def jar(self) -> Path:
        short = self.cdap.rpartition(".")[0]
        return JVM / f"extension-{short}" / "target" / f"ranger-cdap-extension-{short}.jar"

    @property
    def class_path(self) -> Path:
        return DRIVER / self.cdap / "classpath.txt"


# CDAP 6.1 goes through the modules of the JDK, and cannot read some of them.
RELEASES = (
    Release("6.1.4", "io.cdap.cdap", ("--limit-modules", "java.se,jdk.security.auth")),
    Release("5.1.2", "co.cask.cdap"),
)


def missing_part() -> str | None:
    """The sentence that says what is not there, None where the jars can be tried."""
    needed = [JAVA, *(path for release in RELEASES for path in (release.jar, release.class_path))]
    return None if all(path.exists() for path in needed) else "needs CDAP 6.1 and 5.1, built by `make test-cdap`"


class Authorizer(Jvm):
    """One JVM of a release; each command is what CDAP would do, its result what a user would see."""

    def __init__(self, release: Release, directory: Path) -> None:
        self.release = release
        self._directory = directory
        class_path = f"{DRIVER / release.cdap / 'classes'}:{release.class_path.read_text(encoding='utf-8').strip()}"
        main = f"{release.package}.security.authorization.AuthorizerDriver"
        options = ("-XX:+UseSerialGC", "-Xmx256m", "-Duser.name=cdap", BOOT_CLASS_PATH, *release.options)
        super().__init__(str(JAVA), *options, "-cp", class_path, main)

    def start(self, properties: Mapping[str, str]) -> Json:
        """CDAP starts with these properties of the extension."""
        directory = str(self._directory)
        return self.command("start", jar=str(self.release.jar), directory=directory, properties=dict(properties))

    def enforce(self, user: User, of: Json, actions: Sequence[str], do: str = "enforce") -> Json:
        return self.command(do, principal=user.as_json(), entity=of, actions=list(actions))

    def visible(self, user: User, entities: Sequence[Json]) -> Json:
        return self.command("visible", principal=user.as_json(), entities=list(entities))
