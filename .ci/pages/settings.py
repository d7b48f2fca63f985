"""The page `docs/reference/configuration.md`, from the structs of the settings."""

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

from pages import table
from ranger_cdap.config import Location, Secret, Settings, Table, UserDirectory
from ranger_cdap.config.layers import ENVIRONMENT_PREFIX

_HEAD = """\
[Configuration](../how-to/configure.md) describes the sources of settings and their precedence. Below each key is its
environment variable; a setting without one can only be set in the file, one with a variable also by
`--set table.key=value`. A *secret* is `env:NAME`, `file:PATH` or the text itself; *names* are a list, or one
comma-separated text.
"""

_WORDS: Final[Mapping[Any, str]] = {
    str: "text",
    int: "whole number",
    float: "number",
    bool: "true or false",
    Path: "path",
    Location: "path or URL",
    Secret: "secret",
}


def page() -> str:
    """Return every table of settings."""
    return "\n".join([_HEAD, *(_section(name, struct) for name, struct in tables("", Settings))])


def field_descriptions(struct: type[Table]) -> Mapping[str, str]:
    """Return the text below each field of a struct."""
    (definition,) = ast.parse(dedent(inspect.getsource(struct))).body
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    return {
        field.target.id: inspect.cleandoc(str(ast.literal_eval(text.value)))
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr)
    }


def tables(name: str, struct: type[Table]) -> Iterator[tuple[str, type[Table]]]:
    """Yield the tables of a struct by their heading in the file, each before the tables in it."""
    for field in msgspec.structs.fields(struct):
        inner = table_of(field.type)
        if inner is not None:
            path = f"{name}.{field.name}".lstrip(".")
            yield f"[[{path}]]" if get_origin(field.type) is tuple else f"[{path}]", inner
            yield from tables(path, inner)


def table_of(kind: Any) -> type[Table] | None:
    """Return the struct of a table, or of each table of a list; None for a plain value."""
    item = get_args(kind)[0] if get_origin(kind) is tuple else kind
    return item if isinstance(item, type) and issubclass(item, Table) else None


def _section(heading: str, struct: type[Table]) -> str:
    said, path = field_descriptions(struct), heading.strip("[]")
    rows = []
    for field in msgspec.structs.fields(struct):
        if table_of(field.type) is None:
            key = f"`{field.name}`"
            if "." not in path and get_origin(field.type) is not dict:
                key += f"<br>`{ENVIRONMENT_PREFIX}{path.upper()}__{field.name.upper()}`"
            rows.append((key, _type(field.type), _default(field), said[field.name]))
    about = inspect.cleandoc(struct.__doc__ or "")
    return f"## `{heading}`\n\n{about}\n\n{table(('key', 'type', 'default', 'meaning'), rows)}"


def _type(kind: Any) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _type(next(argument for argument in arguments if argument is not NoneType))
    if origin is Literal:
        return ", ".join(f"`{value}`" for value in arguments)
    if origin is tuple:
        return "names" if arguments[0] is str else f"a list of {_type(arguments[0])}"
    return _WORDS[kind] if origin is not dict else f"a table of {_type(arguments[1]).removesuffix('s')}s"


def _default(field: Any) -> str:
    factory = field.default_factory
    if isinstance(factory, UserDirectory):
        return str(factory)
    if field.required:
        return "required"
    value = field.default if factory is msgspec.NODEFAULT else factory()
    if value is None or value in ("", (), {}, Secret("")):
        return "none"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, int | float):
        return f"`{value:_.10g}`" if value >= 10_000 else f"`{value:.10g}`"
    return ", ".join(f"`{one}`" for one in ((value,) if isinstance(value, str) else value))
