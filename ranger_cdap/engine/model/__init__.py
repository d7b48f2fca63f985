"""What comes in and what goes out: Ranger's documents, requests, decisions, problems."""
