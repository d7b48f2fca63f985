"""The access review of a whole inventory, by the engine in this process or in Spark's executors."""
