"""Stamps of checks: `id`, `process` and `at`."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def stamp(number: int) -> Json:
    """A stamp; another number is another check of the same process."""
    return {"id": f"{number:032x}", "process": "c0" * 16, "at": 1_795_234_767_850 + number}


def stamp_of(check: Json) -> Json:
    """The stamp that a check carries, which must be one."""
    found = {name: check[name] for name in ("id", "process", "at")}
    for name in ("id", "process"):
        assert len(found[name]) == 32
        assert set(found[name]) <= set("0123456789abcdef")
    assert type(found["at"]) is int
    return found
