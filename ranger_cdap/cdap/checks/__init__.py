"""CDAP's permission checks, and the operations that they map to."""
