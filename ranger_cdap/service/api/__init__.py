"""The handlers of every interface, and the page for people."""
