"""What ledger, CDAP and Ranger say of each other: inventory, baseline, confirmation, drift, manual overrides."""
