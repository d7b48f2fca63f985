"""Setting up a service in Ranger, moving its policies, and finding mistakes in them."""
