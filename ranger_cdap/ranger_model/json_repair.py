"""Lenient reading of JSON: nulls that mean "missing", numbers and booleans as text; parts that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from ranger_cdap.ranger_model.json_text import UNREADABLE, convert, why

_LISTS = (list, Sequence)
_MAPS = (dict, Mapping)
_PLAIN: tuple[Any, ...] = (str, Any)
_LONGEST = 80
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_BLANKS = "".join(map(chr, range(33)))
"""Characters that Java trims; Python also strips a non-breaking space."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")


@cache
def _fields(struct: type[msgspec.Struct]) -> dict[str, Any]:
    return {field.encode_name: field.type for field in msgspec.structs.fields(struct)}


def _required(type_: Any) -> Any:
    """Return `X` of `X | None`, else the type itself."""
    if get_origin(type_) in (Union, UnionType):
        return next(t for t in get_args(type_) if t is not NoneType)
    return type_


def as_boolean(value: Any) -> Any:
    """Return the boolean that Ranger reads (ranger-semantics.md §1), else the value itself."""
    if isinstance(value, str):
        return _BOOLEANS.get(value.strip(_BLANKS), value)
    return value != 0 if type(value) is int else value


def _scalar(value: Any, type_: Any) -> Any:
    """Return a boolean or integer that is written in another way, else the value itself, to be refused by its type."""
    if type_ is bool:
        return as_boolean(value)
    base = get_args(type_)[0] if get_origin(type_) is Annotated else type_
    if base is int and isinstance(value, str) and _INTEGER.fullmatch(value.strip(_BLANKS)):
        return int(value.strip(_BLANKS))
    return int(value) if base is int and isinstance(value, float) and value.is_integer() else value


def _is_struct(type_: Any) -> bool:
    return isinstance(type_, type) and issubclass(type_, msgspec.Struct)


def repaired(value: Any, type_: Any) -> Any:
    """Return the value without nulls where null is the same as missing: fields, and settings in a map of texts.

    A null in a list or in a map of objects stays, because it has no default there. Booleans and integers that are
    written in another way are converted as Ranger does.
    """
    type_ = _required(type_)
    if isinstance(value, dict) and _is_struct(type_):
        fields = _fields(type_)
        return {k: repaired(v, fields[k]) for k, v in value.items() if v is not None and k in fields}
    if isinstance(value, dict) and get_origin(type_) in _MAPS:
        inner = get_args(type_)[1]
        return {k: repaired(v, inner) for k, v in value.items() if v is not None or inner not in _PLAIN}
    if isinstance(value, list) and get_origin(type_) in _LISTS:
        inner = get_args(type_)[0]
        return [repaired(v, inner) for v in value]
    return _scalar(value, type_)


def without_any_null(value: Any) -> Any:
    """Return the value without any null, also in lists, as Ranger reads it."""
    if isinstance(value, dict):
        return {k: without_any_null(v) for k, v in value.items() if v is not None}
    return [without_any_null(v) for v in value if v is not None] if isinstance(value, list) else value


def unreadable_parts(value: Any, type_: Any) -> Iterator[tuple[str, str]]:
    """Yield path and reason of each smallest part of a value that does not have its type."""
    try:
        convert(repaired(value, type_), type_)
    except UNREADABLE as e:
        inside = [
            (_joined(step, place), reason)
            for step, part, part_type in _parts(value, _required(type_))
            for place, reason in unreadable_parts(part, part_type)
        ]
        yield from inside or [("", why(e).partition(" - at ")[0])]


def _parts(value: Any, type_: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(value, dict) and _is_struct(type_):
        fields = _fields(type_)
        yield from ((k, v, fields[k]) for k, v in value.items() if v is not None and k in fields)
    elif isinstance(value, dict) and get_origin(type_) in _MAPS:
        yield from ((k, v, get_args(type_)[1]) for k, v in value.items())
    elif isinstance(value, list) and get_origin(type_) in _LISTS:
        yield from ((f"[{n}]", v, get_args(type_)[0]) for n, v in enumerate(value))


def _joined(step: str, place: str) -> str:
    return step + place if not place or place.startswith("[") else f"{step}.{place}"


def shown(text: str) -> str:
    """Return foreign text as a message may hold it: on one line, and not too long."""
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)
