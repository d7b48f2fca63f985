"""Compiled policies, resources and conditions."""
