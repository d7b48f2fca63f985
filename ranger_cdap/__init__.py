"""Apache Ranger authorization for CDAP."""
