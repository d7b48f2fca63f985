"""CDAP's words: entities, operations, and what each of them needs of Ranger."""
