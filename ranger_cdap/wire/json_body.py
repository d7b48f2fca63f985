"""JSON bodies without unknown fields."""

from __future__ import annotations

import msgspec


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A body without unknown fields: what a caller may not send is rejected, not ignored."""
