"""The embedded Ranger Admin, or a real one, for tests of steps that are carried out."""

from tests.real_ranger.conftest import address, estate

__all__ = ["address", "estate"]
