"""Apache Ranger authorization for CDAP: every name exported here is public and stable.

Everything else in the package may change with any release, except `ranger_cdap.engine`, `ranger_cdap.testing` and
`ranger_cdap.errors`. Names are loaded lazily: `import ranger_cdap` loads nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ranger_cdap import errors
    from ranger_cdap.authz.authorizer import Authorizer
    from ranger_cdap.authz.enforcer import AccessEnforcer
    from ranger_cdap.cdap.answer import Answer
    from ranger_cdap.cdap.checks.checks import CdapCheck
    from ranger_cdap.cdap.context import Context
    from ranger_cdap.cdap.entity import EntityId, entity_id, parse_entity
    from ranger_cdap.cdap.pattern import EntityPattern
    from ranger_cdap.config import load_settings
    from ranger_cdap.plugins.hookspecs import hookimpl

    __version__: str

__all__ = [
    "AccessEnforcer",
    "Answer",
    "Authorizer",
    "CdapCheck",
    "Context",
    "EntityId",
    "EntityPattern",
    "__version__",
    "entity_id",
    "errors",
    "hookimpl",
    "load_settings",
    "parse_entity",
]

_MODULES = {
    "AccessEnforcer": "authz.enforcer",
    "Answer": "cdap.answer",
    "Authorizer": "authz.authorizer",
    "CdapCheck": "cdap.checks.checks",
    "Context": "cdap.context",
    "EntityId": "cdap.entity",
    "EntityPattern": "cdap.pattern",
    "entity_id": "cdap.entity",
    "hookimpl": "plugins.hookspecs",
    "load_settings": "config",
    "parse_entity": "cdap.entity",
}


if not TYPE_CHECKING:  # for a type checker, a module `__getattr__` would make every name valid

    def __getattr__(name: str) -> object:
        if name == "__version__":
            return import_module("importlib.metadata").version("ranger-cdap")
        if name == "errors":
            return import_module("ranger_cdap.errors")
        if name not in _MODULES:
            raise AttributeError(f"module `ranger_cdap` has no attribute `{name}`")
        return getattr(import_module(f"ranger_cdap.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
