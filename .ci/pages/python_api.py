"""The page `docs/reference/python-api.md`: the public Python API, from its docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator
from enum import Enum
from types import ModuleType
from typing import Any, Final

_HEAD: Final = """\
The public API; everything else can change with any release.

Errors are those of [errors](errors.md): `ranger_cdap.errors` has their classes. Hooks for plugins have
[a page of their own](hooks.md).
"""
_MODULES: Final = {
    "ranger_cdap": "Decide CDAP's operations. A name is loaded when it is first used.",
    "ranger_cdap.testing": "A Ranger Admin for tests; needs the extra `service`.",
    "ranger_cdap.testing.fixtures": "The same as pytest fixtures.",
    "ranger_cdap.client": (
        "Ask a decision service ([how](../how-to/ask-the-decision-service.md)); needs the extra `client`."
    ),
    "ranger_cdap.engine": (
        "Decide for any Ranger service ([how](../how-to/decide-for-another-service.md)). Pure: no I/O, no clock."
    ),
}
_INTERNAL: Final = {"Authorizer.decider"}
_WIDTH: Final = 110


def page() -> str:
    """Return every public name, module by module."""
    return "\n".join([_HEAD, *(line for name, about in _MODULES.items() for line in _module(name, about))])


def _module(name: str, about: str) -> Iterator[str]:
    module = importlib.import_module(name)
    yield from (f"## `{name}`", "", about, "")
    for member in _names(module):
        yield from _member(module, member)


def _names(module: ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    return (
        sorted(listed)
        if listed is not None
        else sorted(name for name, found in vars(module).items() if getattr(found, "__module__", "") == module.__name__)
    )


def _member(module: ModuleType, name: str) -> Iterator[str]:
    found: Any = getattr(module, name)
    if isinstance(found, ModuleType) or name == "__version__":
        return
    if inspect.isclass(found):
        yield from (f"### `{name}`", "", *_class(name, found))
    elif callable(found) and inspect.getdoc(found) and not _is_fixture(found):
        yield from (f"### `{name}`", "", *_signature(name, found), *_text(found))
    elif _is_fixture(found):
        yield from (f"### `{name}`", "", *_text(found))
    else:
        yield from (f"### `{name} = {found!r}`", "")


def _class(name: str, found: type) -> Iterator[str]:
    yield from _text(found)
    fields = getattr(found, "__struct_fields__", ()) or getattr(found, "__dataclass_fields__", ())
    shown = [field for field in fields if not field.startswith("_") and f"{name}.{field}" not in _INTERNAL]
    if shown:
        hints = {name: hint for kind in reversed(found.__mro__) for name, hint in inspect.get_annotations(kind).items()}
        yield from (*(f"- `{field}: {hints.get(field, '?')}`" for field in shown), "")
    if issubclass(found, Enum):
        yield from (*(f"- `{one.name}`: `{one.value}`" for one in found), "")
        return
    for member, value in sorted(vars(found).items()):
        if member.startswith("_") or member in fields:
            continue
        if isinstance(value, property):
            yield from (f"#### `{name}.{member}`", "", *_text(value))
        elif isinstance(value, classmethod | staticmethod) or inspect.isfunction(value):
            function = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            yield from (f"#### `{name}.{member}`", "", *_signature(f"{name}.{member}", function), *_text(function))


def _signature(name: str, function: Any) -> Iterator[str]:
    """The call, in one line or with a line per parameter; a default that is an object is `...`."""
    found = inspect.signature(function)
    lines: list[str] = []
    for parameter in found.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not any(line.startswith("*") for line in lines):
            lines.append("*")
        stars = "*" * ((parameter.kind is parameter.VAR_POSITIONAL) + 2 * (parameter.kind is parameter.VAR_KEYWORD))
        lines.append(f"{stars}{parameter.name}: {parameter.annotation}{_default(parameter)}")
    call = f"{name}({', '.join(lines)}) -> {found.return_annotation}"
    if len(call) > _WIDTH:
        call = "\n".join([f"{name}(", *(f"    {line}," for line in lines), f") -> {found.return_annotation}"])
    yield from ("```text", call, "```", "")


def _default(parameter: inspect.Parameter) -> str:
    value = parameter.default
    if value is parameter.empty:
        return ""
    plain = value is None or type(value) in (bool, int, float, str, tuple)
    return f" = {value!r}" if plain else " = ..."


def _text(found: Any) -> Iterator[str]:
    """The docstring; what it raises as a list."""
    text, _, raises = (inspect.getdoc(found) or "").partition("\nRaises:\n")
    yield from (text.strip(), "")
    if raises:
        lines = re.sub(r"\n +", " ", textwrap.dedent(raises)).splitlines()
        yield from ("Raises:", "", *(f"- {line}" for line in lines), "")


def _is_fixture(found: Any) -> bool:
    return type(found).__name__ == "FixtureFunctionDefinition"
