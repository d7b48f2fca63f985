"""A Ranger Admin for tests, in the test's process and set up for CDAP.

`ranger_cdap.testing.fixtures` provides it as pytest fixtures.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ranger_cdap.testing.in_process import EmbeddedRanger, embedded_ranger

__all__ = ["EmbeddedRanger", "embedded_ranger"]

if not TYPE_CHECKING:  # every program loads the plugin in this package, and few the server

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module `ranger_cdap.testing` has no attribute `{name}`")
        return getattr(import_module("ranger_cdap.testing.in_process"), name)
