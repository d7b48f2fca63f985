"""Lookup of the policies of a resource."""
