"""Extension points: hooks, and the plugins that implement them."""
