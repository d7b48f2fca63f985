"""Stored documents, validation failures and responses."""
