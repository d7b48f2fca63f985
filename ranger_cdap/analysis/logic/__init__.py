"""What can be true together: formulas, a solver for them, and the meaning of their atoms."""
