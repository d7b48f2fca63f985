"""A Ranger Admin for tests, in the test's process and set up for CDAP.

`ranger_cdap.testing.fixtures` provides it as pytest fixtures.
"""

from ranger_cdap.testing.embedded_ranger import EmbeddedRanger, embedded_ranger

__all__ = ["EmbeddedRanger", "embedded_ranger"]
