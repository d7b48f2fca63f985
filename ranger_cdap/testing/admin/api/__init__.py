"""The REST interface: routes and handlers."""
