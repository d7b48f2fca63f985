"""Policies kept as files: changes, mistakes, and what an operation needs."""
