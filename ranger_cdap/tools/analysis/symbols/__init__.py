"""Policies as formulas: each by itself, their precedence, and those of a place."""
