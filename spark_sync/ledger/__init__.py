"""The state of the sync job: events, the lives of entities they fold into, and the tables of both."""
