"""Replays of recorded decisions: those of this plugin next to those that were made."""
