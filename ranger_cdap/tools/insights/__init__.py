"""Insights from months of audit records: what was used, what was denied, and what other policies would have decided."""
