"""Records and journalled checks, stored for the sync job."""
