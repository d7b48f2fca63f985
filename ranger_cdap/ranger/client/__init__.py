"""The client of Ranger Admin's REST interface."""
