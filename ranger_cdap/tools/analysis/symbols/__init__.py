"""Policies as formulas: each on its own, their precedence, and those of a place."""
