"""The bodies of every interface, as they come and go."""
