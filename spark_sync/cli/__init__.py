"""The commands of the sync job, one file each."""
