"""Event sources: each reads lines of its kind with a pure function, which Spark runs on batches of lines."""
