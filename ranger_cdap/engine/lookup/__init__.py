"""Finding the policies of a resource."""
