"""Spark for the sync job: its session, its driver process, and what it raises."""
