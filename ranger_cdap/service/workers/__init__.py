"""Processes of one decision service: an owner, and workers that decide."""
