"""The access review: who can do what in a whole inventory, by the engine inside Spark's executors."""
