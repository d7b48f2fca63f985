"""Policies kept up to date: the state machine, the loop around it, and the cache on disk."""
