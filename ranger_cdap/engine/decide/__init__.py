"""Evaluation of requests: the general evaluator, and the fast path for simple ones."""
