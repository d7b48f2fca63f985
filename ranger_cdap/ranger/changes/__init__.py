"""Changes of Ranger: one step, one executor, and policies as Ranger would save them."""
