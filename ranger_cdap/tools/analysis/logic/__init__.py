"""Formulas, a solver for them, and the meaning of their atoms."""
