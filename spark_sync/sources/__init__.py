"""Event sources: each reads lines of its own kind and finds entity events in them, in Spark SQL only."""
