"""CDAP operations and permission checks, decided by Ranger policies."""
