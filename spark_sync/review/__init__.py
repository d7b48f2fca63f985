"""The access review of a whole inventory, by the engine inside Spark's executors."""
