"""Policies, resources and conditions, compiled."""
