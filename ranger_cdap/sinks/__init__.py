"""Audit sinks for HDFS and Kafka, added by a hook."""
