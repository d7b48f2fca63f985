"""The sync job: entities created in CDAP become resultant-privilege grants in Ranger."""
