"""Checks of the sync job for `doctor`."""
