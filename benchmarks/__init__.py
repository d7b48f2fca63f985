"""How fast and how large: each module measures two things, or one and what is wanted of it, in one run on one machine.

`make bench` prints them all; each says in its docstring, and with `--help`, what it compares. `memory`, `ranger` and
`workload` are what they share.
"""
