"""The HTTP server: connections, callers, limits and replies, independent of what is served."""
