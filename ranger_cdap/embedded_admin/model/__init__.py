"""Ranger's documents, and what is answered about them."""
