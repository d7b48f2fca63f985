"""Deciding: the rule, and the short cuts that give its answers."""
