"""CDAP's own permission checks, and the operations they stand for."""
