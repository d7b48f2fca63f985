"""From pending lives to policies in Ranger Admin, without touching policies of others."""
