"""Validation and authorization rules of Ranger Admin; pure."""
