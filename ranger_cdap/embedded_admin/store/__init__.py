"""Storage in SQLite."""
