"""State shared by the handlers."""
