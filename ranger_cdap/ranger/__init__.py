"""Ranger Admin: its client, the refresh of policies, their changes and files, and setting up a service."""
