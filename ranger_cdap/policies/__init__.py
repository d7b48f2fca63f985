"""Keeping policies fresh: the Ranger Admin client, the disk cache and the refresher."""
