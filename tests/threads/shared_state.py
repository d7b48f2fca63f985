"""Finds the state that decisions change: walks the objects behind an authorizer before and after, and compares."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterator, Mapping
from functools import _lru_cache_wrapper
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from msgspec import Struct

Label = str
"""`Class.attribute`, the attribute that leads to a container or value; `module.function` of a remembered result."""

_PLAIN = (str, bytes, int, float, bool, type(None), type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)
_CONTAINERS = (dict, list, set, deque)


def snapshot(root: object) -> dict[tuple[Label, int], object]:
    """Return the fingerprint of each attribute and container that can be reached, by its label and its object's id."""
    found: dict[tuple[Label, int], object] = {}
    seen: set[int] = set()
    waiting: list[tuple[Label, object]] = [("", root)]
    while waiting:
        label, one = waiting.pop()
        if isinstance(one, _PLAIN) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, _CONTAINERS):
            found[label, id(one)] = (len(one), tuple(map(id, one)))
            waiting += [(label, inner) for inner in (one.values() if isinstance(one, dict) else one)]
        elif isinstance(one, (tuple, frozenset, Mapping)):
            waiting += [(label, inner) for inner in (one.values() if isinstance(one, Mapping) else one)]
        elif type(one).__module__.partition(".")[0] in ("ranger_cdap", "tests"):
            for name, value in _attributes(one):
                inner = f"{type(one).__name__}.{name}"
                found[inner, id(one)] = value if isinstance(value, (int, float, bool)) else id(value)
                waiting.append((inner, value))
    return found


def remembered() -> dict[Label, int]:
    """Return how many results each function of the package remembers."""
    return {
        f"{name.removeprefix('ranger_cdap.')}.{function.__name__}": function.cache_info().currsize
        for name, module in list(sys.modules.items())
        if name.startswith("ranger_cdap.")
        for function in vars(module).values()
        if isinstance(function, _lru_cache_wrapper) and function.__module__ == name
    }


def changed(before: Mapping[tuple[Label, int], object], after: Mapping[tuple[Label, int], object]) -> set[Label]:
    """Return the labels of what is the same object in both, with other content."""
    return {label for label, one in before if (label, one) in after and after[label, one] != before[label, one]}


def _attributes(one: Any) -> Iterator[tuple[str, object]]:
    names = set(getattr(one, "__dict__", ()))
    if isinstance(one, Struct):
        names.update(one.__struct_fields__)
    for kind in type(one).__mro__:
        slots = vars(kind).get("__slots__", ())
        names.update((slots,) if isinstance(slots, str) else slots)
    for name in names - {"__weakref__", "__dict__"}:
        yield name, getattr(one, name, None)
