"""From pending lives to policies in Ranger Admin, and nobody else's policies touched."""
