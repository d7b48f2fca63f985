"""The roles of jobs, and what they change in Ranger."""
