"""Grants made in CDAP, forwarded to Ranger."""
