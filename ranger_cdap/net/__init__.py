"""Servers: the listening socket, HTTP/1.1 connections and the loop that runs an ASGI application on them."""
