"""Decoded JSON against the type it should have: which nulls say nothing, and which parts cannot be read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

_PLAIN: tuple[Any, ...] = (str, Any)


@cache
def _fields(struct: type) -> dict[str, Any]:
    return get_type_hints(struct, include_extras=True)


def _required(type_: Any) -> Any:
    """`X` of `X | None`, else the type itself."""
    if get_origin(type_) is UnionType:
        return next(t for t in get_args(type_) if t is not NoneType)
    return type_


def _is_struct(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, msgspec.Struct)


def without_nulls(value: Any, type_: Any) -> Any:
    """The value without nulls where null is the same as missing: fields, and settings in a map of texts.

    A null in a list or in a map of objects stays: there is nothing it could stand for.
    """
    type_ = _required(type_)
    if isinstance(value, dict) and _is_struct(type_):
        fields = _fields(type_)
        return {k: without_nulls(v, fields[k]) for k, v in value.items() if v is not None and k in fields}
    if isinstance(value, dict) and get_origin(type_) is dict:
        inner = get_args(type_)[1]
        return {k: without_nulls(v, inner) for k, v in value.items() if v is not None or inner not in _PLAIN}
    if isinstance(value, list) and get_origin(type_) is list:
        inner = get_args(type_)[0]
        return [without_nulls(v, inner) for v in value]
    return value


def without_any_null(value: Any) -> Any:
    """The value without any null, also in lists, as Ranger has it."""
    if isinstance(value, dict):
        return {k: without_any_null(v) for k, v in value.items() if v is not None}
    if isinstance(value, list):
        return [without_any_null(v) for v in value if v is not None]
    return value


def unreadable(value: Any, type_: Any) -> Iterator[tuple[str, str]]:
    """Path and reason of each smallest part of a value that is not of its type."""
    try:
        msgspec.convert(without_nulls(value, type_), type_, strict=False)
    except (ValueError, RecursionError, OverflowError) as e:
        inside = [
            (_joined(step, place), reason)
            for step, part, part_type in _parts(value, _required(type_))
            for place, reason in unreadable(part, part_type)
        ]
        yield from inside or [("", one_line(e).partition(" - at ")[0])]


def _parts(value: Any, type_: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(value, dict) and _is_struct(type_):
        fields = _fields(type_)
        yield from ((k, v, fields[k]) for k, v in value.items() if v is not None and k in fields)
    elif isinstance(value, dict) and get_origin(type_) is dict:
        yield from ((k, v, get_args(type_)[1]) for k, v in value.items())
    elif isinstance(value, list) and get_origin(type_) is list:
        yield from ((f"[{n}]", v, get_args(type_)[0]) for n, v in enumerate(value))


def _joined(step: str, place: str) -> str:
    return step + place if not place or place.startswith("[") else f"{step}.{place}"


def one_line(error: Exception) -> str:
    """What a reader says of a text it cannot read, as part of a message."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]
