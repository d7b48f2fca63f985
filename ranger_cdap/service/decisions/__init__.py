"""Deciders for one or more Ranger services."""
