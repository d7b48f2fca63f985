"""A small Ranger Admin for trying out and for tests, not for production."""
