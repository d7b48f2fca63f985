"""The console: pages that answer people's questions about policies, in a process of their own."""
