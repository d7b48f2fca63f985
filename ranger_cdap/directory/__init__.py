"""Groups of users: looked up in sources, and cached."""
