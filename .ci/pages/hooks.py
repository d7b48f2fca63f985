"""The page `docs/reference/hooks.md`, from the hook specifications that plugins are validated against."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pluggy

from ranger_cdap.plugins.hookspecs import PROJECT
from ranger_cdap.plugins.manager import plugin_manager

_HEAD = f"""\
A plugin is a Python package with an entry point in the group `{PROJECT}`: a module or an object whose functions are
named like the hooks below and marked with `ranger_cdap.hookimpl`. A function may omit arguments it does
not use. `examples/plugin/` is an installable example. `ranger-cdap plugins` lists the installed plugins.

Hooks are synchronous and may be called from several threads at once. The order of plugins is not a contract: no plugin
can rely on being called before another. A plugin that cannot be loaded, implements an unknown hook, or registers a
name that another plugin has registered stops the program with the error code `plugin`. A plugin runs with
all the rights of the program: install only plugins you trust like the program itself.
"""


def page(manager: pluggy.PluginManager | None = None) -> str:
    """Return all hooks that a manager knows, by default one with the installed plugins."""
    return "\n".join([_HEAD, *map(_section, _hooks(manager or plugin_manager()))])


def _hooks(manager: pluggy.PluginManager) -> Iterator[pluggy.HookCaller]:
    """Yield the hooks with a specification, module by module, in source order."""
    callers = [caller for _, caller in inspect.getmembers(manager.hook, lambda it: isinstance(it, pluggy.HookCaller))]
    yield from sorted((caller for caller in callers if caller.spec is not None), key=_place)


def _place(caller: pluggy.HookCaller) -> tuple[str, int]:
    assert caller.spec is not None
    return caller.spec.function.__module__, caller.spec.function.__code__.co_firstlineno


def _section(caller: pluggy.HookCaller) -> str:
    assert caller.spec is not None
    function = caller.spec.function
    signature = str(inspect.signature(function)).replace("'", "")
    text = (
        f"## {caller.name}\n\n```python\ndef {caller.name}{signature}: ...\n```\n\n"
        f"{inspect.cleandoc(function.__doc__ or '')}\n"
    )
    return f"{text}\nOf `{function.__module__}`.\n"
