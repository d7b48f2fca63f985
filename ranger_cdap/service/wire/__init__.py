"""The bodies of requests and responses of every interface."""
