"""Access that policies allow, symbolically: what one set of policies allows and another one does not."""
