"""Setting up a service in Ranger: definition, accounts, policies."""
