"""Contracts of the decision service, its clients and the sync job: bodies, events, and the watermark."""
