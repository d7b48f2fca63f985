"""Ingestion: from lines of a source to events and dead letters."""
