"""What Ranger Admin accepts and who may do what; pure."""
