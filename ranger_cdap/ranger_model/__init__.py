"""Ranger's documents as structs, shared by the engine, the policies client and the embedded Ranger Admin.

Fields are snake_case here and camelCase in JSON (ranger-semantics.md §1).
"""
