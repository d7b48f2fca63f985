"""The decision service: HTTP on loopback, for CDAP's extension and for programs in any language."""
