"""The page `docs/reference/configuration.md`: every setting, made from the structs that are read."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from types import NoneType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

import msgspec

from ranger_cdap.config import Secret, Settings, Table, UserDirectory
from ranger_cdap.config.layers import ENVIRONMENT_PREFIX

_HEAD = """\
# All settings

Made by `ranger-cdap config reference`; do not edit.

[How to configure](../how-to/configure.md) says where a setting can be given, and which place counts. Below its key
is its environment variable; what has none can only stand in the file, and what has one can be given by
`--set table.key=value`, too. A *secret* is `env:NAME`, `file:PATH` or the text itself; *names* are a list, or one text
with commas.
"""

_WORDS: Final[Mapping[Any, str]] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Path: "path",
    Secret: "secret",
}


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(_section(name, struct) for name, struct in _tables("", Settings))])


def said_of(struct: type[Table]) -> Mapping[str, str]:
    """The text below each field of a struct."""
    (definition,) = ast.parse(dedent(inspect.getsource(struct))).body
    found = {}
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    for field, text in pairwise(body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            found[field.target.id] = inspect.cleandoc(str(ast.literal_eval(text.value)))
    return found


def _tables(name: str, struct: type[Table]) -> Iterator[tuple[str, type[Table]]]:
    """The tables in one, by the headings they have in the file, each before those in it."""
    for field in msgspec.structs.fields(struct):
        inner = _table_of(field.type)
        if inner is not None:
            path = f"{name}.{field.name}".lstrip(".")
            yield f"[[{path}]]" if get_origin(field.type) is tuple else f"[{path}]", inner
            yield from _tables(path, inner)


def _table_of(kind: Any) -> type[Table] | None:
    """The struct of a table, or of each table of a list."""
    item = get_args(kind)[0] if get_origin(kind) is tuple else kind
    return item if isinstance(item, type) and issubclass(item, Table) else None


def _section(heading: str, struct: type[Table]) -> str:
    said, path = said_of(struct), heading.strip("[]")
    has_variables = "." not in path
    lines = [f"## `{heading}`\n", inspect.cleandoc(struct.__doc__ or "") + "\n"]
    lines += ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
    for field in msgspec.structs.fields(struct):
        if _table_of(field.type) is None:
            key = f"`{field.name}`"
            if has_variables and get_origin(field.type) is not dict:
                key += f"<br>`{ENVIRONMENT_PREFIX}{path.upper()}__{field.name.upper()}`"
            lines.append(f"| {key} | {_type(field.type)} | {_default(field)} | {said[field.name]} |")
    return "\n".join(lines) + "\n"


def _type(kind: Any) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _type(next(argument for argument in arguments if argument is not NoneType))
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin is tuple:
        return "names" if arguments[0] is str else f"a list of {_type(arguments[0])}"
    if origin is dict:
        return f"a table of {_type(arguments[1])}s"
    return _WORDS[kind]


def _default(field: Any) -> str:
    factory = field.default_factory
    if isinstance(factory, UserDirectory):
        return str(factory)
    if field.required:
        return "must be given"
    value = field.default if factory is msgspec.NODEFAULT else factory()
    if value is None or value in ("", (), {}, Secret("")):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int | float):
        return f"`{value:_.10g}`" if value >= 10_000 else f"`{value:.10g}`"
    return ", ".join(f"`{one}`" for one in ((value,) if isinstance(value, str) else value))
