"""The handlers of every interface, and the web page."""
