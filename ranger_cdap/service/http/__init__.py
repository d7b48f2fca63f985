"""The server: connections, callers, limits, replies; it knows nothing of what is answered."""
