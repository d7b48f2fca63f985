"""The commands of the tools: one small file per command."""
