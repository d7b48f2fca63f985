"""Comparing ledger, CDAP and Ranger: inventory, baseline, confirmation, drift, manual overrides."""
