"""The jars for CDAP's master and Ranger Admin, put here by `make extension`, and the properties for cdap-site.xml."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable

from ranger_cdap.config import ServiceSettings, Settings

_PREFIX = "security.authorization.extension"


@dataclass(frozen=True, slots=True)
class Jar:
    """A jar of the package, by the name of its file."""

    name: str

    def find(self) -> Traversable | None:
        """Return the installed jar; `None` if the package was built without it."""
        jar = files(__package__).joinpath(self.name)
        return jar if jar.is_file() else None


@dataclass(frozen=True, slots=True)
class ExtensionJar(Jar):
    """A jar for CDAP's master, the versions of CDAP it is for, and its roles as a caller of the decision service."""

    cdap: str
    roles: tuple[str, ...]


JARS = (
    ExtensionJar("ranger-cdap-extension-5.1.jar", "CDAP 5.0 and 5.1", ("enforce",)),
    ExtensionJar("ranger-cdap-extension-6.1.jar", "CDAP 6.0 to 6.4", ("enforce",)),
    ExtensionJar("ranger-cdap-extension-6.5.jar", "CDAP 6.5 to 6.10", ("enforce",)),
    ExtensionJar("ranger-cdap-extension-6.11.jar", "CDAP 6.11", ("enforce", "audit")),
)

LOOKUP_JAR = Jar("ranger-cdap-lookup.jar")
"""The jar for Ranger Admin."""


def site_properties(jar: ExtensionJar, path: str, settings: Settings) -> Iterator[tuple[str, str]]:
    """Return the properties in cdap-site.xml for a jar at this path and the decision service of these settings.

    Secrets, and the key of a client certificate if the service requires one, are in files of mode 0600.
    """
    yield "security.enabled", "true"
    yield "security.authorization.enabled", "true"
    yield f"{_PREFIX}.jar.path", path
    yield f"{_PREFIX}.config.url", _url(settings.service)
    yield f"{_PREFIX}.config.instance.name", settings.cdap.instance
    yield f"{_PREFIX}.config.master.user", settings.master.name
    for role in jar.roles:
        yield f"{_PREFIX}.config.{role}.secret.file", f"/etc/cdap/conf/ranger-{role}.secret"
    if settings.service.tls_client_ca:
        yield f"{_PREFIX}.config.tls.certificate.file", "/etc/cdap/conf/ranger-client.pem"
        yield f"{_PREFIX}.config.tls.key.file", "/etc/cdap/conf/ranger-client.key"


def _url(service: ServiceSettings) -> str:
    """Return the address for a master on the same host; a service on all addresses listens on loopback too.

    The extension accepts no name for this machine.
    """
    here = {"0.0.0.0": "127.0.0.1", "localhost": "127.0.0.1", "::": "::1"}  # noqa: S104 nothing is bound
    host = here.get(service.host, service.host)
    return f"{'https' if service.tls_certificate else 'http'}://{f'[{host}]' if ':' in host else host}:{service.port}"
