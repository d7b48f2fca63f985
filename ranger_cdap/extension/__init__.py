"""The extension jars for CDAP's master, which `make extension` puts here; which jar is for which CDAP."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable


@dataclass(frozen=True, slots=True)
class ExtensionJar:
    """One jar and the versions of CDAP it is for."""

    name: str
    cdap: str

    def find(self) -> Traversable | None:
        """The jar as it is installed; `None` where the package was built without it."""
        jar = files(__package__).joinpath(self.name)
        return jar if jar.is_file() else None


JARS = (
    ExtensionJar("ranger-cdap-extension-6.5.jar", "CDAP 6.5 to 6.10"),
    ExtensionJar("ranger-cdap-extension-6.11.jar", "CDAP 6.11"),
)
