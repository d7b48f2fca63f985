"""Grants made in CDAP, passed on to Ranger."""
