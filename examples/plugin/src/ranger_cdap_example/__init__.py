"""A plugin for ranger-cdap: a veto, an audit sink and an event source."""
