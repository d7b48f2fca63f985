"""From lines of a source to events, and to dead letters."""
