"""What handlers answer from."""
