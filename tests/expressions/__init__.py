"""Script conditions: what is read, what is refused, and that nothing gets out of the sandbox."""
