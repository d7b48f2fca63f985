"""Audit sink for HDFS, object stores and directories, added by a hook."""
