"""A Ranger Admin for tests: started in the test's process, set up for CDAP, and gone at the end.

`ranger_cdap.testing.fixtures` has it as pytest fixtures.
"""

from ranger_cdap.testing.embedded_ranger import EmbeddedRanger, embedded_ranger

__all__ = ["EmbeddedRanger", "embedded_ranger"]
