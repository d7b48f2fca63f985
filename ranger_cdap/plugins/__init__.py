"""What can be plugged in: hooks, and the plugins that have them."""
