"""What decides for one or more Ranger services."""
