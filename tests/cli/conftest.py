"""What several tests of commands start."""

from live_ranger import ranger

__all__ = ["ranger"]
