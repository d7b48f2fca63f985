"""The extension jars for CDAP's master, which `make extension` puts here, and what cdap-site.xml says for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

_PREFIX = "security.authorization.extension"


@dataclass(frozen=True, slots=True)
class ExtensionJar:
    """One jar, the versions of CDAP it is for, and the roles it calls the decision service with."""

    name: str
    cdap: str
    roles: tuple[str, ...]

    def find(self) -> Traversable | None:
        """The jar as it is installed; `None` where the package was built without it."""
        jar = files(__package__).joinpath(self.name)
        return jar if jar.is_file() else None


JARS = (
    ExtensionJar("ranger-cdap-extension-6.5.jar", "CDAP 6.5 to 6.10", ("enforce",)),
    ExtensionJar("ranger-cdap-extension-6.11.jar", "CDAP 6.11", ("enforce", "audit")),
)


def site_properties(jar: ExtensionJar, path: str) -> Iterator[tuple[str, str]]:
    """The properties that cdap-site.xml needs for a jar at this path; secrets are in files of mode 0600."""
    yield "security.enabled", "true"
    yield "security.authorization.enabled", "true"
    yield f"{_PREFIX}.jar.path", path
    yield f"{_PREFIX}.config.url", "http://127.0.0.1:6500"
    yield f"{_PREFIX}.config.instance.name", "cdap"
    yield f"{_PREFIX}.config.master.user", "cdap"
    for role in jar.roles:
        yield f"{_PREFIX}.config.{role}.secret.file", f"/etc/cdap/conf/ranger-{role}.secret"
