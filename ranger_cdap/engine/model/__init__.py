"""Inputs and outputs of the engine: requests, decisions, problems."""
