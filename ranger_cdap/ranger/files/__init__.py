"""Files and directories of policies."""
