"""What several tests of commands start."""

from tests.cli.live_ranger import ranger

__all__ = ["ranger"]
