"""Benchmarks: each module measures two things, or one against its target, in one run on one machine.

`make bench` prints them all; the docstring and `--help` of each say what it compares. `memory`, `ranger` and
`workload` are shared.
"""
