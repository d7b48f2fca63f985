"""`UnknownName`: a name in a question that nothing names, which may be a typo."""

from __future__ import annotations

import msgspec


class UnknownName(msgspec.Struct, frozen=True):
    """A name that is not known, and the nearest ones; it is `covered` if a wildcard of a policy matches it."""

    kind: str
    name: str
    nearest: tuple[str, ...]
    covered: bool = False

    def __str__(self) -> str:
        *others, last = (f"`{name}`" for name in self.nearest or ("",))
        hint = f"; did you mean {', '.join(others)}{' or ' if others else ''}{last}?" if self.nearest else ""
        return f"unknown {self.kind} `{self.name}`: no policy, role, tag, inventory or user store names it{hint}"
