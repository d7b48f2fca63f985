"""The page `docs/reference/python-api.md`: the public Python API, from its docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
import textwrap
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any, Final

_HEAD: Final = """\
The public API; everything else can change with any release.

Errors are those of [errors](errors.md): `ranger_cdap.errors` has their classes. Hooks for plugins have
[a page of their own](hooks.md).

Each example runs after the set-up below the heading of its module, and a test runs them all. The set-up of
`ranger_cdap` needs the extra `service`.
"""
_MODULES: Final = {
    "ranger_cdap": "Decide CDAP's operations. A name is loaded when it is first used.",
    "ranger_cdap.testing": "A Ranger Admin for tests; needs the extra `service`.",
    "ranger_cdap.testing.fixtures": "The same as pytest fixtures.",
    "ranger_cdap.client": (
        "Ask a decision service ([how](../how-to/ask-the-decision-service.md)); needs the extra `client`.\n\n"
        "The service of the examples allows the caller `reports` every request. Its policies grant alice READ and\n"
        "WRITE on the dataset `orders`, and bob READ on its namespace `sales`."
    ),
    "ranger_cdap.engine": (
        "Decide for any Ranger service ([how](../how-to/decide-for-another-service.md)). Pure: no I/O, no clock."
    ),
}
_INTERNAL: Final = {"Authorizer.decider"}
_TEXTS: Final = {
    "HookimplMarker": "Mark a function as an implementation of the [hook](hooks.md) of its name. Options: as in pluggy."
}
"""Texts for objects whose docstring is that of another package, by their class."""
_WIDTH: Final = 110
_EXAMPLES: Final = dict(
    re.findall(
        r"^## (\S+)\n\n(.+?)\s*(?=^## |\Z)",
        Path(__file__).with_name("python_api_examples.txt").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
)
"""The examples of a function, and the lines that those of a module share, by its name."""


def page() -> str:
    """Return every public name, module by module."""
    return "\n".join([_HEAD, *(line for name, about in _MODULES.items() for line in _module(name, about))])


def _module(name: str, about: str) -> Iterator[str]:
    module = importlib.import_module(name)
    yield from (f"## `{name}`", "", about, "", *_example(name))
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
    elif callable(found) and inspect.getdoc(found):
        yield from _function("###", name, found)
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
        elif inspect.isfunction(function := getattr(value, "__func__", value)):
            yield from _function("####", f"{name}.{member}", function)


def _function(level: str, name: str, function: Any) -> Iterator[str]:
    call = () if type(function).__name__ == "FixtureFunctionDefinition" else _signature(name, function)
    yield from (f"{level} `{name}`", "", *call, *_text(function), *_example(name))


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
    shown = repr(value) if value is None or type(value) in (bool, int, float, str, tuple) else "..."
    return "" if value is parameter.empty else f" = {shown}"


def _text(found: Any) -> Iterator[str]:
    """The docstring; what it raises as a list."""
    text, _, raises = (_TEXTS.get(type(found).__name__) or inspect.getdoc(found) or "").partition("\nRaises:\n")
    yield from (text.strip(), "")
    if raises:
        lines = re.sub(r"\n +", " ", textwrap.dedent(raises)).splitlines()
        yield from ("Raises:", "", *(f"- {line}" for line in lines), "")


def _example(name: str) -> Sequence[str]:
    return ("```pycon", _EXAMPLES[name], "```", "") if name in _EXAMPLES else ()
