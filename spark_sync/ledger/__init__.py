"""What the sync job remembers: events, the lives of entities they fold into, and the tables of both."""
